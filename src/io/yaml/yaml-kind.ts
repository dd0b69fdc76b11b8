/** Kinds of YAML files: how much of each is read, and the codes of its mistakes. */

import type { ProblemCode } from "../../errors.ts";
import { type InputLimit, inputLimits } from "../limits.ts";

export interface YamlKind {
  readonly limit: InputLimit;
  readonly syntax: ProblemCode;
  /** Of a key that stands twice. */
  readonly duplicate: ProblemCode;
}

export const matrixYaml: YamlKind = {
  limit: inputLimits.matrix,
  syntax: "MATRIX_SYNTAX",
  duplicate: "MATRIX_DUPLICATE",
};
