/** Sums, products and shifts of AArch64 code, and the constants that its instructions have inside (DDI 0487, C4.1, "Data Processing"). */

import * as known from "./known-bits.ts";
import type { Bits, Flags, Value } from "./known-bits.ts";
import { field, has, numberIn, stack } from "./arm64-words.ts";
import type { Known } from "./way-states.ts";

const not = (bit: boolean | null) => (bit === null ? null : !bit);

/** The flags that a comparison leaves. The carry is set where the first number is not below the other. */
export function compared(one: Bits, other: Bits, bytes: number): Flags {
  const mask = known.maskOf(bytes);
  const [least, most] = [one.ones & mask, mask & ~one.zeros];
  const isBelow = most < (other.ones & mask) ? true : least >= (mask & ~other.zeros) ? false : null;
  const isPositive = (one.zeros & other.zeros & ((mask >> 1n) + 1n)) !== 0n;
  const { zero, asked } = known.compared(one, other, bytes);
  return {
    zero: isBelow === true ? false : zero,
    carry: not(isBelow),
    sign: isPositive ? isBelow : null,
    asked,
  };
}

/** The flags that a comparison of numbers or addresses leaves; null where nobody knows. */
function comparedAt(one: Value | null, other: Value | null, bytes: number): Flags | null {
  if (one === null || other === null) return null;
  if (!("at" in one) && !("at" in other)) return compared(one, other, bytes);
  // No address is zero, and the stack is far from all others.
  const [a, b] = [placeOf(one), placeOf(other)];
  if (a === null || b === null) return null;
  const isBelow = a < 0 === b < 0 ? a < b : b < 0;
  return { zero: a === b, carry: !isBelow, sign: isBelow, asked: false };
}

const placeOf = (value: Value) => ("at" in value ? value.at : known.numberOf(value));

/** What nobody knows of a number in which the CPU's answer is a part; null for others. */
const unclear = (...parts: readonly (Value | null | undefined)[]): Bits | null =>
  parts.some((each) => each != null && "asked" in each && each.asked)
    ? { ...known.noBits, asked: true }
    : null;

/** All bits of a number; null where one is unknown. */
const exactly = (value: Value | null) => (known.numberOf(value) === null ? null : (value as Bits).ones);

function sumOf(one: Value | null, other: Value | null, isMinus: boolean): Value | null {
  const [a, b] = [exactly(one), exactly(other)];
  if (b === 0n) return one;
  if (a === 0n && !isMinus) return other;
  if (a !== null && b !== null) return known.constant(isMinus ? a - b : a + b);
  const by = known.numberOf(other);
  if (one !== null && "at" in one && by !== null) return { at: one.at + (isMinus ? -by : by) };
  if (other !== null && "at" in other && a !== null && !isMinus)
    return { at: other.at + (known.numberOf(one) ?? 0) };
  if (one === null || other === null || "at" in one || "at" in other) return unclear(one, other);
  return known.added(one, isMinus ? known.not(other) : other, isMinus ? 1n : 0n);
}

/** What an instruction of arithmetic leaves in its register; `flags` are undefined where these stay. `toStack`: register 31 is the stack's. */
export interface Sum {
  readonly value: Value | null;
  readonly flags?: Flags | null;
  readonly toStack: boolean;
}

/** ADD, SUB and CMP, products, and shifts by a register; null for other instructions. */
export function summed(word: number, registers: Known["registers"], bytes: number): Sum | null {
  const [one, other] = [field(word, 5, 5), field(word, 16, 5)];
  const plain = (name: number): Value | null =>
    name === stack ? known.constant(0) : (registers.get(name) ?? null);
  const isNumber = has(word, 0x1f80_0000, 0x1100_0000);
  const isExtended = has(word, 0x1fe0_0000, 0x0b20_0000);
  if (isNumber || isExtended || has(word, 0x1f20_0000, 0x0b00_0000)) {
    const before = isNumber || isExtended ? (registers.get(one) ?? null) : plain(one);
    const shifted = field(word, 10, 12) * (field(word, 22, 1) === 1 ? 4096 : 1);
    const by = isNumber
      ? known.constant(shifted)
      : isExtended
        ? extendedIn(plain(other), field(word, 13, 3), field(word, 10, 3))
        : shiftedIn(plain(other), word);
    const isMinus = field(word, 30, 1) === 1;
    const value = sumOf(before, by, isMinus);
    const setsFlags = field(word, 29, 1) === 1;
    const toStack = (isNumber || isExtended) && !setsFlags;
    if (!setsFlags) return { value, toStack };
    return { value, flags: isMinus ? comparedAt(before, by, bytes) : null, toStack };
  }
  const toStack = false;
  // LSLV, LSRV, and others.
  if (has(word, 0x7fe0_f000, 0x1ac0_2000)) {
    const [value, by] = [numberIn(registers, one), known.numberOf(numberIn(registers, other))];
    const kind = field(word, 10, 2);
    if (value === null || by === null || kind > 1)
      return { value: unclear(value, numberIn(registers, other)), toStack };
    const count = by & (8 * bytes - 1);
    return {
      value: kind === 0 ? known.shiftLeft(value, count) : known.shiftRight(value, count, bytes),
      toStack,
    };
  }
  // MADD and MSUB, also of 32 bits to 64.
  if (has(word, 0x7fe0_0000, 0x1b00_0000) || has(word, 0xff60_0000, 0x9b20_0000)) {
    const isLong = field(word, 21, 1) === 1;
    const isSigned = field(word, 23, 1) === 0;
    const [a, b] = [one, other].map((name) => {
      const all = exactly(numberIn(registers, name));
      if (all === null || !isLong) return all;
      return isSigned ? BigInt.asIntN(32, all) : BigInt.asUintN(32, all);
    });
    const product = a == null || b == null ? null : known.constant(a * b);
    const value = sumOf(plain(field(word, 10, 5)), product, field(word, 15, 1) === 1);
    return { value: value ?? unclear(numberIn(registers, one), numberIn(registers, other)), toStack };
  }
  return null;
}

/** A register that is widened from so many bits, and shifted. */
export function extendedIn(value: Value | null, kind: number, count: number): Value | null {
  if (value === null || "at" in value) return kind % 4 === 3 && count === 0 ? value : null;
  const cut = known.narrow(value, 2 ** (kind & 3));
  const number = exactly(cut);
  const isSigned = kind >= 4 && number !== null;
  const whole = isSigned ? known.constant(BigInt.asIntN(8 * 2 ** (kind & 3), number)) : cut;
  return known.shiftLeft(whole, count);
}

/** LSL and LSR of a second operand; null for others. */
export function shiftedIn(value: Value | null, word: number): Value | null {
  const [kind, count] = [field(word, 22, 2), field(word, 10, 6)];
  if (count === 0) return value;
  if (value === null || "at" in value || kind > 1) return unclear(value);
  return kind === 0 ? known.shiftLeft(value, count) : known.shiftRight(value, count, word >>> 31 ? 8 : 4);
}

/** The constant of a logical instruction: a run of ones, rotated and repeated (DDI 0487, DecodeBitMasks). */
export function maskIn(word: number): Bits {
  const [immr, imms] = [field(word, 16, 6), field(word, 10, 6)];
  const length = 31 - Math.clz32((field(word, 22, 1) << 6) | (~imms & 0x3f));
  const size = 2 ** Math.max(1, length);
  const ones = (1n << BigInt((imms & (size - 1)) + 1)) - 1n;
  const rotate = BigInt(immr & (size - 1));
  const mask = (1n << BigInt(size)) - 1n;
  const run = ((ones >> rotate) | (ones << (BigInt(size) - rotate))) & mask;
  let all = 0n;
  for (let at = 0; at < 64; at += size) all |= run << BigInt(at);
  return known.constant(all);
}

export function fieldOf(value: Bits, before: Bits | null, word: number, bytes: number): Bits {
  const [kind, first, last] = [field(word, 29, 2), field(word, 16, 6), field(word, 10, 6)];
  const count = last >= first ? last - first + 1 : last + 1;
  const shift = last >= first ? 0 : 8 * bytes - first;
  const mask = known.constant((1n << BigInt(count)) - 1n);
  const cut = known.and(known.shiftRight(value, last >= first ? first : 0, bytes), mask);
  // BFM keeps the bits around the field.
  if (kind === 1) {
    const around = known.not(known.shiftLeft(mask, shift));
    return known.or(known.and(before ?? known.noBits, around), known.shiftLeft(cut, shift));
  }
  const top = 1n << BigInt(count - 1);
  const above = (known.maskOf(bytes) >> BigInt(count)) << BigInt(count);
  const isUnknown = kind === 0 && ((cut.zeros | cut.ones) & top) === 0n;
  const whole = isUnknown
    ? { ...cut, zeros: cut.zeros & ~above }
    : kind === 0 && (cut.ones & top) !== 0n
      ? known.or(cut, known.constant(above))
      : cut;
  return known.shiftLeft(whole, shift);
}
