/** Questions of a runtime, which say nothing of the program that it is in. */

/** The C library of a static program asks for itself. */
export const libraryQuestion = "the C library's start";

/** libgcc asks for LSE alone, by names that no program uses (libgcc, config/aarch64/lse-init.c). */
export const atomicsQuestion = "__aarch64_have_lse_atomics";

export function isAtomicsQuestion(sign: string): boolean {
  return sign === atomicsQuestion || sign === "__getauxval";
}

/** It says nothing of the program. */
export function isOwnQuestion(sign: string): boolean {
  return sign === libraryQuestion || isAtomicsQuestion(sign);
}
