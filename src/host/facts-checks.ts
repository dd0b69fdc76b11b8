/** The small checks that a facts file is read with. No schema library: this is on a node's critical path. */

export type Path = string;
export type Report = (path: Path, message: string) => void;

/** Reads one value: its meaning, or undefined after a report. */
export type Check<T> = (value: unknown, path: Path, report: Report) => T | undefined;

export function text(pattern?: RegExp, expected = "text"): Check<string> {
  return (value, path, report) => {
    if (typeof value === "string" && (pattern === undefined || pattern.test(value))) return value;
    report(path, `expected ${expected}, found ${show(value)}`);
    return undefined;
  };
}

export const wholeNumber: Check<number> = (value, path, report) => {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  report(path, `expected a whole number from 0, found ${show(value)}`);
  return undefined;
};

export const truth: Check<boolean> = (value, path, report) => {
  if (typeof value === "boolean") return value;
  report(path, `expected true or false, found ${show(value)}`);
  return undefined;
};

export function oneOf<const T extends string>(...words: readonly T[]): Check<T> {
  return (value, path, report) => {
    const found = words.find((word) => word === value);
    if (found === undefined) report(path, `expected ${words.join(", ")}, found ${show(value)}`);
    return found;
  };
}

/** Absent and null are both null: unknown. */
export function optional<T>(check: Check<T>): Check<T | null> {
  return (value, path, report) => (value === undefined || value === null ? null : check(value, path, report));
}

export function list<T>(check: Check<T>): Check<readonly T[]> {
  return (value, path, report) => {
    if (!Array.isArray(value)) {
      report(path, `expected a list, found ${show(value)}`);
      return undefined;
    }
    return value.flatMap((item, index) => {
      const read = check(item, `${path}[${index}]`, report);
      return read === undefined ? [] : [read];
    });
  };
}

/** The members of an object, or undefined after a report. Keys that nobody asks for are ignored. */
export function members(
  value: unknown,
  path: Path,
  report: Report,
): Readonly<Record<string, unknown>> | undefined {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  report(path, `expected an object, found ${show(value)}`);
  return undefined;
}

/** A value in a message: its kind, and the value where it is short. */
export function show(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  const shown = JSON.stringify(value);
  return `${kinds[typeof value] ?? typeof value} ${shown.length > 60 ? `${shown.slice(0, 60)}…` : shown}`;
}

const kinds: Readonly<Record<string, string>> = { string: "text", number: "number", boolean: "" };
