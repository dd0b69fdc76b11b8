/** Reads axes out of the tags of others' images by a pattern: `{pytorch}-cuda*-{flavor}`. */

import { usageError } from "../../errors.ts";
import { hardwareAxes } from "../../lock/lock.ts";

const axisName = /^[a-z][a-z0-9_-]{0,62}$/;

type Part =
  | { readonly kind: "text"; readonly text: string }
  /** null for `*`, which is no axis. */
  | { readonly kind: "value"; readonly axis: string | null };

/** Returns the axes of a tag; null for a tag that does not match. */
export type ReadTag = (tag: string) => Readonly<Record<string, string>> | null;

/**
 * `{name}` and `*` match one character or more, up to the first place of the text behind them. Throws `USAGE`.
 *
 * @example
 * compileTagPattern("{pytorch}-cuda*-{flavor}")("2.5.1-cuda12.4-runtime"); // { pytorch: "2.5.1", flavor: "runtime" }
 */
export function compileTagPattern(pattern: string): ReadTag {
  const parts = pattern
    .split(/(\{[^{}]*\}|\*)/)
    .filter((text) => text !== "")
    .map((text): Part => {
      if (text === "*") return { kind: "value", axis: null };
      const axis = /^\{(.*)\}$/.exec(text)?.[1];
      return axis === undefined ? { kind: "text", text } : { kind: "value", axis };
    });
  const axes = parts.flatMap((part) => (part.kind === "value" && part.axis !== null ? [part.axis] : []));
  for (const axis of axes) requireFreeAxis(axis, `--tag-pattern ${pattern}`);
  const next = parts.findIndex((part, at) => part.kind === "value" && parts[at + 1]?.kind === "value");
  if (next >= 0 || new Set(axes).size !== axes.length)
    throw usageError(
      `--tag-pattern ${pattern} has ${next >= 0 ? "two values with nothing between them" : "an axis twice"}`,
      "write for example {pytorch}-cuda*-{flavor}",
    );
  return (tag) => read(parts, tag);
}

function read(parts: readonly Part[], tag: string): Readonly<Record<string, string>> | null {
  const found: [string, string][] = [];
  let rest = tag;
  for (const [index, part] of parts.entries()) {
    if (part.kind === "text") {
      if (!rest.startsWith(part.text)) return null;
      rest = rest.slice(part.text.length);
      continue;
    }
    const after = parts[index + 1];
    // The last text must stand at the end of the tag.
    const isLast = index + 2 >= parts.length;
    const end =
      after?.kind !== "text" ? rest.length : isLast ? endOf(rest, after.text) : rest.indexOf(after.text, 1);
    if (end < 1) return null;
    if (part.axis !== null) found.push([part.axis, rest.slice(0, end)]);
    rest = rest.slice(end);
  }
  return rest === "" ? Object.fromEntries(found) : null;
}

function endOf(text: string, end: string): number {
  return text.endsWith(end) ? text.length - end.length : -1;
}

/** `--axis python=3.12`, each once. Throws `USAGE`. */
export function parseAxes(texts: readonly string[]): Readonly<Record<string, string>> {
  const axes: Record<string, string> = {};
  for (const text of texts) {
    const at = text.indexOf("=");
    const [axis, value] = [text.slice(0, at), text.slice(at + 1)];
    if (at < 1 || value === "")
      throw usageError(`--axis ${text} is not axis=value`, "write --axis python=3.12");
    requireFreeAxis(axis, `--axis ${text}`);
    if (Object.hasOwn(axes, axis)) throw usageError(`--axis ${axis} is given twice`, "name each axis once");
    axes[axis] = value;
  }
  return axes;
}

function requireFreeAxis(axis: string, where: string): void {
  if (hardwareAxes.has(axis))
    throw usageError(
      `${where}: ${axis} is measured, so a pattern cannot name it`,
      "write * instead; --cuda and --march state facts that the files do not decide",
    );
  if (!axisName.test(axis))
    throw usageError(
      `${where}: ${JSON.stringify(axis)} is no name of an axis`,
      "use lower case letters, digits, - and _",
    );
}
