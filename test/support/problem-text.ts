/** The problems of an error as text, for what a test refuses. */

import { formatProblem, ImgmatchError } from "../../src/errors.ts";

/** Throws every other error again. */
export function problemText(error: unknown): string {
  if (error instanceof ImgmatchError) return error.problems.map(formatProblem).join("\n");
  throw error;
}
