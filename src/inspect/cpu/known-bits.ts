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
  /** Known where the number has no overflow. */
  readonly sign: boolean | null;
  readonly asked: boolean;
}

const full = 2n ** 64n - 1n;
/** The lowest bits of a number of so many bytes. */
export const maskOf = (bytes: number) => (bytes >= 8 ? full : (1n << BigInt(8 * bytes)) - 1n);
export const noBits: Bits = { zeros: 0n, ones: 0n, asked: false };
/** A part of the CPU's answer of which nobody knows the bits. */
export const lost: Bits = { ...noBits, asked: true };
export const isLost = (value: Value | undefined): boolean =>
  value !== undefined && !("at" in value) && value.asked && (value.zeros | value.ones) === 0n;

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
    // Whoever writes a part reads the part.
    asked: value.asked,
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

/** The sum of two numbers, as far as all bits below are known. */
export function added(one: Bits, other: Bits, carry = 0n): Bits {
  const most = ((full ^ one.zeros) + (full ^ other.zeros) + carry) & full;
  const least = (one.ones + other.ones + carry) & full;
  const carries = (full ^ most ^ one.zeros ^ other.zeros) | (least ^ one.ones ^ other.ones);
  const isKnown = (one.zeros | one.ones) & (other.zeros | other.ones) & carries;
  return made((full ^ most) & isKnown, least & isKnown, one, other);
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
  if (one === null) return null;
  if (mnemonic === Mnemonic.Neg) return narrow(added(constant(0), not(a), 1n), bytes);
  if (mnemonic === Mnemonic.Inc) return narrow(added(a, constant(1)), bytes);
  if (mnemonic === Mnemonic.Dec) return narrow(added(a, constant(-1)), bytes);
  if (other === null) return null;
  if (mnemonic === Mnemonic.Sub) return narrow(added(a, not(b), 1n), bytes);
  if (mnemonic === Mnemonic.Add) return narrow(added(a, b), bytes);
  const all = numberOf(other);
  if (all === null) return null;
  const count = all & (bytes > 4 ? 63 : 31);
  if (mnemonic === Mnemonic.Sar && numberOf(one) !== null)
    return { ...constant(BigInt.asIntN(8 * bytes, one.ones) >> BigInt(count), bytes), asked: a.asked };
  const bit = constant(1n << BigInt(count));
  if (mnemonic === Mnemonic.Bts) return or(a, bit);
  if (mnemonic === Mnemonic.Btr) return and(a, not(bit));
  if (mnemonic === Mnemonic.Shr) return shiftRight(a, count, bytes);
  return mnemonic === Mnemonic.Shl ? shiftLeft(a, count) : null;
}

/** What a memory of so many bytes has of a number: of the bits above nobody knows. */
export const lowest = ({ zeros, ones, asked }: Bits, bytes: number): Bits => ({
  ...{ zeros: zeros & maskOf(bytes), ones: ones & maskOf(bytes), asked },
});

/** The number whose lowest four bytes are another's, with the sign; null where the sign is unknown. */
export function signed(value: Bits): Bits | null {
  if (((value.zeros >> 31n) & 1n) === 1n) return narrow(value, 4);
  return numberOf(narrow(value, 4)) === null ? null : constant(BigInt.asIntN(32, value.ones));
}

/** The address at a distance from another; null for other sums. */
export function sumOf(one: Value | null, other: Value | null): Value | null {
  const [from, by] = one !== null && "at" in one ? [one, other] : [other, one];
  const distance = numberOf(by);
  return from !== null && "at" in from && distance !== null ? { at: from.at + distance } : null;
}

/** The number of so many bytes after a shift to the right, with bits of another above; or to the left, with bits of another below. */
export function shiftedIn(
  one: Bits | null,
  other: Bits | null,
  count: number | null,
  bytes: number,
  isLeft: boolean,
): Bits | null {
  const by = count === null ? null : count & (bytes > 4 ? 63 : 31);
  if (one === null || by === null || by === 0) return by === null ? null : one;
  const [left, right] = isLeft ? [one, other ?? noBits] : [other ?? noBits, one];
  const most = 8 * bytes;
  return narrow(
    or(shiftRight(right, isLeft ? most - by : by, bytes), shiftLeft(left, isLeft ? by : most - by)),
    bytes,
  );
}

/** What is known of a number that is one of two. */
export const oneOf = (a: Bits, b: Bits): Bits => made(a.zeros & b.zeros, a.ones & b.ones, a, b);

const testsOfBits: ReadonlySet<Mnemonic> = new Set([Mnemonic.Bt, Mnemonic.Bts, Mnemonic.Btr]);

export function flagsOf(
  mnemonic: Mnemonic,
  one: Bits | null,
  other: Bits | null,
  isSame: boolean,
  result: Bits | null,
  bytes: number,
): Flags | null {
  const place = testsOfBits.has(mnemonic) ? numberOf(other) : null;
  if (one !== null && place !== null) {
    const bit = 1n << BigInt(place & (bytes > 4 ? 63 : 31));
    const carry = (one.ones & bit) !== 0n ? true : (one.zeros & bit) !== 0n ? false : null;
    return { zero: null, carry, sign: null, asked: one.asked };
  }
  if (mnemonic === Mnemonic.Cmp) {
    if (one === null || other === null) return null;
    const mask = maskOf(bytes);
    const isKnown = numberOf(one) !== null && numberOf(other) !== null;
    const carry = isKnown ? (one.ones & mask) < (other.ones & mask) : null;
    const [a, b] = [one, other].map(({ ones }) => BigInt.asIntN(8 * bytes, ones)) as [bigint, bigint];
    const isWhole = isKnown && BigInt.asIntN(8 * bytes, a - b) === a - b;
    return { ...compared(one, other, bytes), carry, sign: isWhole ? a < b : null };
  }
  const isSum = mnemonic === Mnemonic.Add || mnemonic === Mnemonic.Sub;
  const left =
    mnemonic === Mnemonic.Test ? (isSame ? one : resultOf(Mnemonic.And, one, other, false, bytes)) : result;
  if (left === null) return null;
  if (mnemonic === Mnemonic.Neg && one !== null) {
    const { zero } = flagsOfResult(one, bytes);
    return { ...flagsOfResult(left, bytes), carry: zero === null ? null : !zero, sign: null };
  }
  return isSum ? { ...flagsOfResult(left, bytes), sign: null } : flagsOfResult(left, bytes);
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

/** The condition codes in pairs: the second of two holds where the first does not. */
const opposites: ReadonlyMap<ConditionCode, ConditionCode> = new Map([
  [ConditionCode.ne, ConditionCode.e],
  [ConditionCode.ae, ConditionCode.b],
  [ConditionCode.ns, ConditionCode.s],
  [ConditionCode.a, ConditionCode.be],
  [ConditionCode.ge, ConditionCode.l],
  [ConditionCode.g, ConditionCode.le],
]);

/** Whether a condition holds; null where nothing is known. */
export function condition(code: ConditionCode, flags: Flags | null): boolean | null {
  if (flags === null) return null;
  const opposite = opposites.get(code);
  if (opposite !== undefined) {
    const isSo = condition(opposite, flags);
    return isSo === null ? null : !isSo;
  }
  const { zero, carry, sign } = flags;
  const either = (one: boolean | null, other: boolean | null) =>
    one === true || other === true ? true : one === null || other === null ? null : false;
  if (code === ConditionCode.e) return zero;
  if (code === ConditionCode.b) return carry;
  if (code === ConditionCode.be) return either(carry, zero);
  if (code === ConditionCode.s || code === ConditionCode.l) return sign;
  return code === ConditionCode.le ? either(sign, zero) : null;
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
