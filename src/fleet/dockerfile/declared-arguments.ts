/** Arguments of the matrix that a Dockerfile never asks for: a build would drop them without a word. */

import type { Problem } from "../../errors.ts";
import type { Matrix } from "../matrix/matrix.ts";
import { suggest } from "../matrix/suggest.ts";
import { type Instructions, splitWords } from "./instructions.ts";

/**
 * What BuildKit takes without an `ARG` (docs.docker.com/reference/dockerfile, "Predefined ARGs", "BuildKit built-in build args").
 */
const predefined = /^((HTTPS?|FTP|NO|ALL)_PROXY|BUILDKIT_\w+|SOURCE_DATE_EPOCH)$/i;

/** `ARGUMENT_UNDECLARED` for every argument without an `ARG` of its name, each at its place in the matrix. */
export function undeclaredArguments(
  { args, template }: Pick<Matrix, "args" | "template">,
  dockerfile: Pick<Instructions, "instructions">,
): readonly Problem[] {
  const declared = new Set(dockerfile.instructions.flatMap(argumentNames));
  return Object.entries(args).flatMap(([name, { at }]): Problem[] => {
    if (declared.has(name) || predefined.test(name)) return [];
    const near = suggest(name, [...declared]);
    return [
      {
        code: "ARGUMENT_UNDECLARED",
        message: `${template.value} has no ARG ${name}, so the argument reaches no image`,
        fix: `${near === null ? "" : `did you mean ${near}? Else `}write ARG ${name} into the stage that uses it, or remove the argument`,
        at,
      },
    ];
  });
}

/**
 * `ARGUMENT_UNDECLARED` for every one of these names that no text of a template has: its value would change the inputs of every cell and no
 * image. A template that goes over `args`, or makes the name of an `ARG`, may reach any.
 */
export function unreachedArguments(
  names: readonly string[],
  { template }: Pick<Matrix, "template">,
  texts: readonly string[],
): readonly Problem[] {
  if (texts.some((text) => /\bargs\b(?!\.)|^\s*ARG\b.*\{\{/im.test(text))) return [];
  return names.flatMap((name): Problem[] => {
    if (predefined.test(name) || texts.some((text) => new RegExp(`\\b${name}\\b`).test(text))) return [];
    return [
      {
        code: "ARGUMENT_UNDECLARED",
        message: `${template.value} never names ${name}, so the argument reaches no image`,
        fix: `write ARG ${name} into the stage that uses it, or remove the argument`,
        at: { file: `--build-arg ${name}` },
      },
    ];
  });
}

/** `ARG A B=1`: A and B. */
function argumentNames({ keyword, text }: Instructions["instructions"][number]): readonly string[] {
  if (keyword !== "ARG") return [];
  return splitWords(text)
    .slice(1)
    .map(({ text: word }) => word.replace(/=.*$/s, ""));
}
