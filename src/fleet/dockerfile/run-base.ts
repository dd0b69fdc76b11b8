/** The base image of the stage that becomes the image, as `org.opencontainers.image.base.name` wants it. */

import { type Dockerfile, parseDockerfile } from "./instructions.ts";
import { findStage, readStages, type StageOptions } from "./stages.ts";

/**
 * The reference behind the target stage, or behind the last one, with variables resolved; stages that start from other
 * stages are followed. A reference that cannot be decided is given as written: `findBases` says what is wrong with it.
 *
 * @example
 * runBaseOf("FROM gcc:14 AS build\nFROM debian:12\n", null); // "debian:12"
 */
export function runBaseOf(
  dockerfile: string | Dockerfile,
  target: string | null,
  options: StageOptions = {},
): string {
  const stages = readStages(
    typeof dockerfile === "string" ? parseDockerfile(dockerfile) : dockerfile,
    options,
  );
  const wanted = target === null ? -1 : findStage(stages, target);
  let at = wanted >= 0 ? wanted : stages.length - 1;
  for (;;) {
    const stage = stages[at];
    const ref = stage?.ref.ok === true ? stage.ref.value : (stage?.image?.text ?? "");
    // A stage may only start from one above it.
    const above = stages.slice(0, at).findIndex(({ name }) => name?.toLowerCase() === ref.toLowerCase());
    if (above < 0) return ref;
    at = above;
  }
}
