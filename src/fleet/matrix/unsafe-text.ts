/**
 * Texts that could leave the Dockerfile instruction into which a template puts them: line ends and other control
 * characters, a backslash (line continuation), a backtick (the other escape character) and `<<` (a here-document).
 * They are refused everywhere in the matrix, so that no template has to quote for safety. A build argument may have a backslash, as
 * imgmatch escapes backslashes in the Dockerfile. The last letter may not be a backslash: a template could put the argument at the end of a line.
 */

import type { Place, Problem } from "../../errors.ts";
import type { YamlPath } from "../../io/yaml/yaml-places.ts";
import type { YamlSource } from "../../io/yaml/yaml-source.ts";
import { mistake } from "./matrix-problems.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const unsafe = /[\u0000-\u001f\u007f\u0085\u2028\u2029\\`]|<</;

/** The first unsafe part of a text; null if there is none. */
function unsafeIn(text: string): string | null {
  return unsafe.exec(text)?.[0] ?? null;
}

/** `MATRIX_VALUE_UNSAFE` for the text of a build argument. @param what names it */
export function unsafeArgument(text: string, what: string, at: Place): Problem[] {
  const found = /\\[ \t]*$/.exec(text)?.[0] ?? unsafeIn(text.replaceAll("\\", ""));
  return found === null ? [] : [unsafeText(what, found, at)];
}

function unsafeText(what: string, found: string, at: Place): Problem {
  const isEnd = /^\\[ \t]*$/.test(found);
  return {
    code: "MATRIX_VALUE_UNSAFE",
    message: `${what} ${isEnd ? "ends with" : "contains"} ${JSON.stringify(found)}, which can break out of a Dockerfile instruction`,
    fix: "remove it, and write this text into the template or a file of the build context",
    at,
  };
}

export function unsafeTextProblems(source: YamlSource): Problem[] {
  const problems: Problem[] = [];
  for (const { text, path, isKey } of textsIn(source.data)) {
    const isArgument =
      !isKey && (path.at(-2) === "args" || (path.at(-3) === "args" && path.at(-1) === "default"));
    const found = isArgument ? null : unsafeIn(text);
    const what = printable(path.map(String).join("."));
    if (isArgument) problems.push(...unsafeArgument(text, what, source.placeOf(path)));
    else if (found !== null)
      problems.push(unsafeText(what, found, isKey ? source.placeOfKey(path) : source.placeOf(path)));
    if (isKey && text === "__proto__") {
      // A later reader of the matrix would drop it without a word.
      problems.push(mistake(`"__proto__" cannot be a key`, "choose another name", source.placeOfKey(path)));
    }
  }
  return problems;
}

function printable(text: string): string {
  return unsafe.test(text) ? JSON.stringify(text) : text;
}

/** Every text of a YAML file with its path, in the order of the file; a key, with `isKey`, before its value. */
export function* textsIn(
  value: unknown,
  path: YamlPath = [],
): Generator<{ readonly text: string; readonly path: YamlPath; readonly isKey: boolean }> {
  if (typeof value === "string") yield { text: value, path, isKey: false };
  if (typeof value !== "object" || value === null) return;
  for (const [key, item] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    const at = [...path, key];
    if (typeof key === "string") yield { text: key, path: at, isKey: true };
    yield* textsIn(item, at);
  }
}
