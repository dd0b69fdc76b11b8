/** Reads the words of AArch64 instructions. */

import * as known from "./known-bits.ts";
import type { Bits } from "./known-bits.ts";
import type { Known } from "./way-states.ts";

/** The number of the stack's register, which is zero where a number is wanted. */
export const stack = 31;
export const has = (word: number, mask: number, value: number) => (word & mask) >>> 0 === value;
export const field = (word: number, low: number, bits: number) => (word >>> low) & (2 ** bits - 1);
export const signed = (number: number, bits: number) => (number << (32 - bits)) >> (32 - bits);

export function numberIn(registers: Known["registers"], name: number): Bits | null {
  if (name === stack) return known.constant(0);
  const value = registers.get(name);
  return value === undefined || "at" in value ? null : value;
}
