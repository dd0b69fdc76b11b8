/**
 * Texts that could leave the Dockerfile instruction into which a template puts them: line ends and other control
 * characters, a backslash (line continuation), a backtick (the other escape character) and `<<` (a here-document).
 * They are refused everywhere in the matrix, so that no template has to quote for safety.
 */

import type { Problem } from "../errors.ts";
import type { YamlPath } from "./yaml-places.ts";
import type { YamlSource } from "./yaml-source.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const unsafe = /[\u0000-\u001f\u007f\u0085\u2028\u2029\\`]|<</;

export function unsafeTextProblems(source: YamlSource): Problem[] {
  const problems: Problem[] = [];
  visit(source.data, []);
  return problems;

  function visit(value: unknown, path: YamlPath): void {
    if (typeof value === "string") check(value, path, source.placeOf);
    else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) visit(item, [...path, index]);
    } else if (typeof value === "object" && value !== null) {
      for (const [key, item] of Object.entries(value)) {
        check(key, [...path, key], source.placeOfKey);
        if (key === "__proto__") {
          // What reads the matrix further on would drop it without a word.
          const at = source.placeOfKey([...path, key]);
          const message = `"__proto__" cannot be a key`;
          problems.push({ code: "MATRIX_SCHEMA", message, fix: "choose another name", at });
        }
        visit(item, [...path, key]);
      }
    }
  }

  function check(text: string, path: YamlPath, placeOf: YamlSource["placeOf"]): void {
    const found = unsafe.exec(text)?.[0];
    if (found === undefined) return;
    problems.push({
      code: "MATRIX_VALUE_UNSAFE",
      message: `${printable(path.map(String).join("."))} contains ${JSON.stringify(found)}, which can break out of a Dockerfile instruction`,
      fix: "remove it; what needs it belongs into the template or into a file of the build context",
      at: placeOf(path),
    });
  }
}

function printable(text: string): string {
  return unsafe.test(text) ? JSON.stringify(text) : text;
}
