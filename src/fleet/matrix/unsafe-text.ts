/**
 * Texts that could leave the Dockerfile instruction into which a template puts them: line ends and other control
 * characters, a backslash (line continuation), a backtick (the other escape character) and `<<` (a here-document).
 * They are refused everywhere in the matrix, so that no template has to quote for safety.
 */

import { ImgmatchError, type Place, type Problem } from "../../errors.ts";
import type { YamlPath } from "../../io/yaml/yaml-places.ts";
import type { YamlSource } from "../../io/yaml/yaml-source.ts";
import { parseImageReference } from "../../oci/reference.ts";
import type { BaseInput, ParentInput } from "./matrix-schema.ts";
import { isParent } from "./parents.ts";
import { textsIn } from "./texts.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const unsafe = /[\u0000-\u001f\u007f\u0085\u2028\u2029\\`]|<</;

/** The first unsafe part of a text; null if there is none. */
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
        fix: "remove it, and write this text into the template or a file of the build context",
        at: isKey ? source.placeOfKey(path) : source.placeOf(path),
      });
    }
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

/** A mistake in a matrix or a workspace without another code. */
export function mistake(message: string, fix: string, at: Place): Problem {
  return { code: "MATRIX_SCHEMA", message, fix, at };
}

/** `REFERENCE_INVALID` at this place, or nothing. */
export function referenceProblems(text: string, at: Place): Problem[] {
  try {
    parseImageReference(text);
    return [];
  } catch (error) {
    if (error instanceof ImgmatchError) return error.problems.map((problem) => ({ ...problem, at }));
    throw error;
  }
}

/** The base images at a path: one reference, or one per stage. A template is checked where it is rendered. */
export function baseProblems(input: BaseInput | undefined, source: YamlSource, path: YamlPath): Problem[] {
  if (input === undefined) return [];
  const problemsOf = (each: string | ParentInput, at: YamlPath) =>
    typeof each !== "string" || each.includes("{{") ? [] : referenceProblems(each, source.placeOf(at));
  if (typeof input === "string") return problemsOf(input, path);
  if (isParent(input)) return [];
  const stages = Object.entries(input);
  if (stages.length > 0) return stages.flatMap(([stage, each]) => problemsOf(each, [...path, stage]));
  const fix = "write base: debian:bookworm-slim, or one reference per stage";
  return [mistake("base names no image", fix, source.placeOf(path))];
}
