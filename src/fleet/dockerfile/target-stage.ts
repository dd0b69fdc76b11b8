/** Where the stage that becomes the image ends: there stand its labels and environment. */

import { ImgmatchError } from "../../errors.ts";
import type { Located, Matrix } from "../matrix/matrix.ts";
import { type Dockerfile, offsetIn } from "./instructions.ts";
import { findStage, readStages } from "./stages.ts";

/** Offset behind the last line of the target stage, or of the text when the matrix names none. Throws `DOCKERFILE_INVALID`. */
export function endOfTarget(
  dockerfile: Dockerfile,
  { target, template }: Pick<Matrix, "target" | "template">,
): number {
  const text = dockerfile.source;
  const end = target === null ? text.length : endOfStage(dockerfile, target);
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

function endOfStage(dockerfile: Dockerfile, { value: target, at }: Located<string>): number {
  const stages = readStages(dockerfile);
  const index = findStage(stages, target);
  if (index < 0) {
    const known = stages.flatMap(({ name }) => name ?? []);
    throw new ImgmatchError({
      code: "DOCKERFILE_INVALID",
      message: `the template has no stage ${target}`,
      fix: known.length > 0 ? `its stages are ${known.join(", ")}` : `write FROM … AS ${target}`,
      at,
    });
  }
  const next = stages[index + 1];
  return next === undefined ? dockerfile.source.length : offsetIn(next.from, 0);
}
