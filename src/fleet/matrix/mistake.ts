/** A mistake in a matrix or a workspace that breaks no rule of a code of its own. */

import type { Place, Problem } from "../../errors.ts";

export function mistake(message: string, fix: string, at: Place): Problem {
  return { code: "MATRIX_SCHEMA", message, fix, at };
}
