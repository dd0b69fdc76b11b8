/**
 * Texts that could leave the Dockerfile instruction into which a template puts them: line ends and other control
 * characters, a backslash (line continuation), a backtick (the other escape character) and `<<` (a here-document).
 * They are refused everywhere in the matrix, so that no template has to quote for safety.
 */

import type { Problem } from "../../errors.ts";
import { mistake } from "./mistake.ts";
import { textsIn } from "./texts.ts";
import type { YamlSource } from "../../io/yaml/yaml-source.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const unsafe = /[\u0000-\u001f\u007f\u0085\u2028\u2029\\`]|<</;

/** What in a text could do so; null where nothing does. */
export function unsafeIn(text: string): string | null {
  return unsafe.exec(text)?.[0] ?? null;
}

export function unsafeTextProblems(source: YamlSource): Problem[] {
  const problems: Problem[] = [];
  for (const { text, path, isKey } of textsIn(source.data)) {
    const found = unsafeIn(text);
    if (found !== null) {
      problems.push({
        code: "MATRIX_VALUE_UNSAFE",
        message: `${printable(path.map(String).join("."))} contains ${JSON.stringify(found)}, which can break out of a Dockerfile instruction`,
        fix: "remove it; what needs it belongs into the template or into a file of the build context",
        at: isKey ? source.placeOfKey(path) : source.placeOf(path),
      });
    }
    if (isKey && text === "__proto__") {
      // What reads the matrix further on would drop it without a word.
      problems.push(mistake(`"__proto__" cannot be a key`, "choose another name", source.placeOfKey(path)));
    }
  }
  return problems;
}

function printable(text: string): string {
  return unsafe.test(text) ? JSON.stringify(text) : text;
}
