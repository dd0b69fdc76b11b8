/** What is known of numbers bit by bit, and what x86's instructions make of such numbers. */

import { ConditionCode, Mnemonic, Register } from "iced-x86";

/** What is known of the 64 bits of a register; `asked` if the CPU's answer is a part. */
export interface Bits {
  readonly zeros: bigint;
  readonly ones: bigint;
  readonly asked: boolean;
}

export type Value = Bits | { readonly at: number };

export interface Flags {
  readonly zero: boolean | null;
  readonly carry: boolean | null;
  readonly sign: boolean | null;
  readonly asked: boolean;
}

const full = 2n ** 64n - 1n;
/** The lowest bits of a number of so many bytes. */
export const maskOf = (bytes: number) => (bytes >= 8 ? full : (1n << BigInt(8 * bytes)) - 1n);
export const noBits: Bits = { zeros: 0n, ones: 0n, asked: false };

/** The number of so many bytes; the bits above are zeros. */
export const constant = (value: bigint | number, bytes = 8): Bits => {
  const ones = BigInt.asUintN(64, BigInt(value)) & maskOf(bytes);
  return { zeros: full ^ ones, ones, asked: false };
};

/** The bits of so many bytes from a bit on; the bits above are zeros. */
export function narrow({ zeros, ones, asked }: Bits, bytes: number, shift = 0): Bits {
  const mask = maskOf(bytes);
  return {
    zeros: ((zeros >> BigInt(shift)) & mask) | (full ^ mask),
    ones: (ones >> BigInt(shift)) & mask,
    asked,
  };
}

/** The register after a write of a part: of four bytes the bits above become zeros, of fewer bytes they stay. */
export function widen(value: Bits, before: Value | undefined, bytes: number, shift: number): Bits {
  if (bytes >= 4) return narrow(value, bytes);
  const mask = maskOf(bytes) << BigInt(shift);
  const old = before === undefined || "at" in before ? noBits : before;
  const put = (old: bigint, own: bigint) => (old & (full ^ mask)) | ((own << BigInt(shift)) & mask);
  return {
    zeros: put(old.zeros, value.zeros),
    ones: put(old.ones, value.ones),
    asked: value.asked || old.asked,
  };
}

export const and = (a: Bits, b: Bits): Bits => made(a.zeros | b.zeros, a.ones & b.ones, a, b);
export const or = (a: Bits, b: Bits): Bits => made(a.zeros & b.zeros, a.ones | b.ones, a, b);
export const xor = (a: Bits, b: Bits): Bits =>
  made((a.zeros & b.zeros) | (a.ones & b.ones), (a.zeros & b.ones) | (a.ones & b.zeros), a, b);
export const not = (a: Bits): Bits => made(a.ones, a.zeros, a, a);
export const shiftLeft = (a: Bits, count: number): Bits =>
  made((a.zeros << BigInt(count)) | ((1n << BigInt(count)) - 1n), a.ones << BigInt(count), a, a);
export const shiftRight = (a: Bits, count: number, bytes = 8): Bits => {
  const { zeros, ones } = narrow(a, bytes);
  return made((zeros >> BigInt(count)) | (full ^ (full >> BigInt(count))), ones >> BigInt(count), a, a);
};

function made(zeros: bigint, ones: bigint, a: Bits, b: Bits): Bits {
  return { zeros: zeros & full, ones: ones & full, asked: a.asked || b.asked };
}

/** What an instruction leaves in its first operand of so many bytes; null where nobody knows. */
export function resultOf(
  mnemonic: Mnemonic,
  one: Bits | null,
  other: Bits | null,
  isSame: boolean,
  bytes: number,
): Bits | null {
  if ((mnemonic === Mnemonic.Xor || mnemonic === Mnemonic.Sub) && isSame) return constant(0);
  const [a, b] = [one ?? noBits, other ?? noBits];
  if (mnemonic === Mnemonic.And) return and(a, b);
  if (mnemonic === Mnemonic.Or) return or(a, b);
  if (mnemonic === Mnemonic.Xor) return xor(a, b);
  if (mnemonic === Mnemonic.Not) return not(a);
  const all = other === null ? null : numberOf(other);
  if (one === null || all === null) return null;
  const count = all & (bytes > 4 ? 63 : 31);
  if (mnemonic === Mnemonic.Shr) return shiftRight(a, count, bytes);
  return mnemonic === Mnemonic.Shl ? shiftLeft(a, count) : null;
}

export function flagsOf(
  mnemonic: Mnemonic,
  one: Bits | null,
  other: Bits | null,
  isSame: boolean,
  result: Bits | null,
  bytes: number,
): Flags | null {
  if (mnemonic === Mnemonic.Bt && one !== null && other !== null) {
    const bit = 1n << (other.ones & (bytes > 4 ? 63n : 31n));
    const carry = (one.ones & bit) !== 0n ? true : (one.zeros & bit) !== 0n ? false : null;
    return { zero: null, carry, sign: null, asked: one.asked };
  }
  if (mnemonic === Mnemonic.Cmp) return one === null || other === null ? null : compared(one, other, bytes);
  const left =
    mnemonic === Mnemonic.Test ? (isSame ? one : resultOf(Mnemonic.And, one, other, false, bytes)) : result;
  return left === null ? null : flagsOfResult(left, bytes);
}

/** The flags that a number of so many bytes leaves. */
export function flagsOfResult({ zeros, ones, asked }: Bits, bytes: number): Flags {
  const mask = maskOf(bytes);
  const top = (mask >> 1n) + 1n;
  const zero = (ones & mask) !== 0n ? false : (zeros & mask) === mask ? true : null;
  const sign = (ones & top) !== 0n ? true : (zeros & top) !== 0n ? false : null;
  return { zero, carry: null, sign, asked };
}

/** The flags that a comparison for equality leaves. */
export function compared(one: Bits, other: Bits, bytes: number): Flags {
  const mask = maskOf(bytes);
  const isOther = ((one.ones & other.zeros) | (one.zeros & other.ones)) & mask;
  const isKnown = ((one.ones | one.zeros) & (other.ones | other.zeros) & mask) === mask;
  const zero = isOther !== 0n ? false : isKnown ? true : null;
  return { zero, carry: null, sign: null, asked: one.asked || other.asked };
}

export const conditions: ReadonlySet<ConditionCode> = new Set([
  ...[
    ConditionCode.e,
    ConditionCode.ne,
    ConditionCode.b,
    ConditionCode.ae,
    ConditionCode.s,
    ConditionCode.ns,
  ],
]);

/** null where nothing is known. */
export function condition(code: ConditionCode, flags: Flags | null): boolean | null {
  if (flags === null || !conditions.has(code)) return null;
  const isSign = code === ConditionCode.s || code === ConditionCode.ns;
  const bit =
    code === ConditionCode.e || code === ConditionCode.ne ? flags.zero : isSign ? flags.sign : flags.carry;
  if (bit === null) return null;
  return code === ConditionCode.e || code === ConditionCode.b || code === ConditionCode.s ? bit : !bit;
}

export const isHigh = (register: Register) =>
  register === Register.AH ||
  register === Register.BH ||
  register === Register.CH ||
  register === Register.DH;

/** The number whose bits are all known; null for others. */
export function numberOf(value: Value | undefined | null): number | null {
  if (value == null || "at" in value) return null;
  return (value.zeros | value.ones) === full ? Number(BigInt.asIntN(64, value.ones)) : null;
}
