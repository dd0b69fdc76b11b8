/** The answers of the matrix's parsers, and the problems that several of them report. */

import { ImgmatchError, type Place, type Problem } from "../../errors.ts";
import { parseImageReference } from "../../oci/reference.ts";

/** A mistake in a matrix or a workspace without another code. */
export function mistake(message: string, fix: string, at: Place): Problem {
  return { code: "MATRIX_SCHEMA", message, fix, at };
}

export function valueProblem(message: string, fix: string, at: Place): Problem {
  return { code: "MATRIX_VALUE_UNKNOWN", message, fix, at };
}

/** The value that a parser made of its input, or the mistakes in the input. */
export type Parsed<Value> = { readonly value: Value } | { readonly problems: readonly Problem[] };

export function refused(message: string, fix: string, at: Place): { readonly problems: readonly Problem[] } {
  return { problems: [valueProblem(message, fix, at)] };
}

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
