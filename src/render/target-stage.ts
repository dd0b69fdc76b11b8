/** Where the stage that becomes the image ends: there stand its labels and environment. */

import { ImgmatchError } from "../errors.ts";
import type { Located, Matrix } from "../matrix/matrix.ts";
import { offsetIn, parseDockerfile } from "./instructions.ts";

/** Offset behind the last line of the target stage, or of the text when the matrix names none. Throws `DOCKERFILE_INVALID`. */
export function endOfTarget(text: string, { target, template }: Pick<Matrix, "target" | "template">): number {
  const end = target === null ? text.length : endOfStage(text, target);
  const lines = text.slice(0, end).trimEnd().split("\n");
  const last = lines.findLast((line) => !/^\s*(#|$)/.test(line)) ?? "";
  if (/\\[ \t]*$/.test(last)) {
    throw new ImgmatchError({
      code: "DOCKERFILE_INVALID",
      message: `the last instruction of the image goes on after its end: ${last.trim()}`,
      fix: "remove the backslash",
      at: { file: template.value },
    });
  }
  return end;
}

function endOfStage(text: string, { value: target, at }: Located<string>): number {
  const froms = parseDockerfile(text).instructions.filter(({ keyword }) => keyword === "FROM");
  const names = froms.map(({ text: from }) => /\sAS\s+(\S+)\s*$/i.exec(from)?.[1] ?? "");
  const index = /^\d+$/.test(target)
    ? Number(target)
    : names.findIndex((name) => name.toLowerCase() === target.toLowerCase());
  if (froms[index] === undefined) {
    const known = names.filter((name) => name !== "");
    throw new ImgmatchError({
      code: "DOCKERFILE_INVALID",
      message: `the template has no stage ${target}`,
      fix: known.length > 0 ? `its stages are ${known.join(", ")}` : `write FROM … AS ${target}`,
      at,
    });
  }
  const next = froms[index + 1];
  return next === undefined ? text.length : offsetIn(next, 0);
}
