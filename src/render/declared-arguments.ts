/** Arguments of the matrix that a Dockerfile never asks for: a build would drop them without a word. */

import type { Problem } from "../errors.ts";
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

/** `ARG A B=1`: A and B. */
function argumentNames({ keyword, text }: Instructions["instructions"][number]): readonly string[] {
  if (keyword !== "ARG") return [];
  return splitWords(text)
    .slice(1)
    .map(({ text: word }) => word.replace(/=.*$/s, ""));
}
