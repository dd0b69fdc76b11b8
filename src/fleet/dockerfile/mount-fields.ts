/** Reads the fields of `RUN --mount=…` (moby/buildkit, frontend/dockerfile/instructions/commands_runmount.go). Pure. */

interface MountField {
  /** `source` and `target`, whatever their other names. */
  readonly name: string;
  /** Without quotes. */
  readonly value: string;
  /** The place of the value in the flag. */
  readonly at: number;
}

const prefix = "--mount=";
const otherNames: Readonly<Record<string, string>> = { src: "source", dst: "target", destination: "target" };

/** The last of one name counts. null for another flag. */
export function mountFields(flag: string): ReadonlyMap<string, MountField> | null {
  if (!flag.startsWith(prefix)) return null;
  const fields = Array.from(
    flag.slice(prefix.length).matchAll(/[^,]+/g),
    ({ 0: field, index }): MountField => {
      const [key = "", ...value] = field.split("=");
      const name = key.replace(/["']/g, "").toLowerCase();
      return {
        name: otherNames[name] ?? name,
        value: value.join("=").replace(/["']/g, ""),
        at: prefix.length + index + key.length + 1,
      };
    },
  );
  return new Map(fields.map((field) => [field.name, field]));
}
