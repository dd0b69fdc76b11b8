/** The text of a matrix that a command is about. */

import { readTextFile } from "../../io/files.ts";
import { inputLimits } from "../../io/limits.ts";

/** Throws `MATRIX_NOT_FOUND`, which names the matrix of a folder above where there is one. */
export function readMatrixText(file: string): Promise<string> {
  return readTextFile(file, inputLimits.matrix, {
    missingCode: "MATRIX_NOT_FOUND",
    fix: "run imgmatch init to write one, or name another with --matrix",
    flag: "--matrix",
  });
}
