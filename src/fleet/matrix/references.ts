/** Image references of a matrix, each checked at its place. */

import { ImgmatchError, type Place, type Problem } from "../../errors.ts";
import { parseImageReference } from "../../oci/reference.ts";
import { mistake } from "./mistake.ts";
import type { BaseInput } from "./matrix-schema.ts";
import type { YamlPath } from "../../io/yaml/yaml-places.ts";
import type { YamlSource } from "../../io/yaml/yaml-source.ts";

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

/** The base images at a path: one reference, or one per stage. */
export function baseProblems(input: BaseInput | undefined, source: YamlSource, path: YamlPath): Problem[] {
  if (input === undefined) return [];
  if (typeof input === "string") return referenceProblems(input, source.placeOf(path));
  const stages = Object.entries(input);
  if (stages.length > 0) {
    return stages.flatMap(([stage, text]) => referenceProblems(text, source.placeOf([...path, stage])));
  }
  const fix = "write base: debian:bookworm-slim, or one reference per stage";
  return [mistake("base names no image", fix, source.placeOf(path))];
}
