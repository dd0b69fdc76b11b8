/** What is known of numbers bit by bit, and what x86's instructions make of such numbers. */

import { ConditionCode, Mnemonic, Register } from "iced-x86";

/** What is known of the low 32 bits of a register; `asked` if the CPU's answer is a part. */
export interface Bits {
  readonly zeros: number;
  readonly ones: number;
  readonly asked: boolean;
}

export type Value = Bits | { readonly at: number };

export interface Flags {
  readonly zero: boolean | null;
  readonly carry: boolean | null;
  readonly sign: boolean | null;
  readonly asked: boolean;
}

export const full = 0xffff_ffff;
export const constant = (value: number): Bits => ({ zeros: ~value >>> 0, ones: value >>> 0, asked: false });

/** What an instruction leaves in its first operand; null where nobody knows. */
export function resultOf(
  mnemonic: Mnemonic,
  one: Bits | null,
  other: Bits | null,
  isSame: boolean,
): Bits | null {
  if ((mnemonic === Mnemonic.Xor || mnemonic === Mnemonic.Sub) && isSame) return constant(0);
  const asked = (one?.asked ?? false) || (other?.asked ?? false);
  const [a, b] = [one ?? { zeros: 0, ones: 0 }, other ?? { zeros: 0, ones: 0 }];
  const made = (zeros: number, ones: number): Bits => ({ zeros: zeros >>> 0, ones: ones >>> 0, asked });
  if (mnemonic === Mnemonic.And) return made(a.zeros | b.zeros, a.ones & b.ones);
  if (mnemonic === Mnemonic.Or) return made(a.zeros & b.zeros, a.ones | b.ones);
  if (mnemonic === Mnemonic.Xor)
    return made((a.zeros & b.zeros) | (a.ones & b.ones), (a.zeros & b.ones) | (a.ones & b.zeros));
  if (mnemonic === Mnemonic.Not) return made(a.ones, a.zeros);
  const count = (b.ones | b.zeros) >>> 0 === full ? b.ones & 31 : null;
  if (mnemonic === Mnemonic.Shr && one !== null && count !== null)
    return made((a.zeros >>> count) | ~(full >>> count), a.ones >>> count);
  if (mnemonic === Mnemonic.Shl && one !== null && count !== null)
    return made((a.zeros << count) | ((1 << count) - 1), a.ones << count);
  return null;
}

export function flagsOf(
  mnemonic: Mnemonic,
  one: Bits | null,
  other: Bits | null,
  isSame: boolean,
  result: Bits | null,
  width: number,
  isLong: boolean,
): Flags | null {
  if (mnemonic === Mnemonic.Bt && one !== null && other !== null) {
    const bit = 1 << (other.ones & 31);
    const carry = (one.ones & bit) !== 0 ? true : (one.zeros & bit) !== 0 ? false : null;
    return { zero: null, carry, sign: null, asked: one.asked };
  }
  if (mnemonic === Mnemonic.Cmp && one !== null && other !== null) {
    const isOther = ((one.ones & other.zeros) | (one.zeros & other.ones)) & width;
    const isKnown = ((one.ones | one.zeros) & (other.ones | other.zeros) & width) >>> 0 === width;
    const zero = isOther !== 0 ? false : isKnown ? true : null;
    return { zero, carry: null, sign: null, asked: one.asked || other.asked };
  }
  const left =
    mnemonic === Mnemonic.Test ? (isSame ? one : resultOf(Mnemonic.And, one, other, false)) : result;
  if (left === null) return null;
  const zero = (left.ones & width) !== 0 ? false : (left.zeros & width) >>> 0 === width ? true : null;
  const top = (width >>> 1) + 1;
  const sign = (left.ones & top) !== 0 ? true : (left.zeros & top) !== 0 ? false : null;
  return { zero, carry: null, sign: isLong ? null : sign, asked: left.asked };
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

export function narrow({ zeros, ones, asked }: Bits, size: number, shift: number): Bits {
  const mask = size === 1 ? 0xff : 0xffff;
  return { zeros: ((zeros >>> shift) & mask) | (~mask >>> 0), ones: (ones >>> shift) & mask, asked };
}

/** The register after a write of its lower part. */
export function widen(value: Bits, before: Value | undefined, size: number, shift: number): Bits {
  if (size > 2) return value;
  const mask = (size === 1 ? 0xff : 0xffff) << shift;
  const old = before === undefined || "at" in before ? { zeros: 0, ones: 0, asked: false } : before;
  return {
    zeros: ((old.zeros & ~mask) | ((value.zeros << shift) & mask)) >>> 0,
    ones: ((old.ones & ~mask) | ((value.ones << shift) & mask)) >>> 0,
    asked: value.asked || old.asked,
  };
}

export function numberOf(value: Value | undefined): number | null {
  if (value === undefined || "at" in value) return null;
  return (value.zeros | value.ones) >>> 0 === full ? value.ones : null;
}
