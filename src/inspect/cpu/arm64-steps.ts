/**
 * Takes the single steps of a way through AArch64 code, as far as constants, addresses and the CPU's answer are known (DDI 0487, C4.1 and C6.2).
 * What another instruction writes is unknown.
 */

import * as known from "./known-bits.ts";
import type { Bits, Flags, Value } from "./known-bits.ts";
import {
  access,
  answered,
  field,
  has,
  type Memory,
  numberIn,
  signed,
  stack,
  type State,
} from "./arm64-memory.ts";
import { fieldsIn } from "./arm64-registers.ts";
import type { Answer, Machine, Step } from "./refusal-ways.ts";
import type { Known } from "./way-states.ts";

/** X19 to X29 and the stack (AAPCS64, "General-purpose registers"). */
const kept: ReadonlySet<number> = new Set([...Array.from({ length: 11 }, (_, each) => 19 + each), stack]);
/** Go gives back no register of the caller's, but the goroutine's and those of the stack (Go, src/cmd/compile/abi-internal.md). */
export const keptByGo: ReadonlySet<number> = new Set([28, 29, stack]);

export function arm64Machine(memory: Memory, answer: Answer, keeps = kept): Machine {
  return {
    ...(keeps === keptByGo ? { moreResults: [1, 2, 3, 4, 5] } : {}),
    ...{ result: 0, argument: 0, stack, kept: keeps, untaken: new Set<number>(), free: () => {} },
    step(place, before) {
      const word = memory.codeAt(place);
      if (word === null) return { kind: "lost" };
      const flow = flowOf(word, place, before);
      if (flow !== null) return flow;
      const registers = new Map(before.registers);
      const flags = execute(word, place, { registers, flags: before.flags, memory, answer });
      return { kind: "next", known: { registers, flags }, next: place + 4 };
    },
  };
}

/** Branches, calls and ends; null for other instructions. */
function flowOf(word: number, place: number, { registers, flags }: Known): Step | null {
  const next = place + 4;
  const bytes = word >>> 31 === 1 ? 8 : 4;
  const isOne = field(word, 24, 1) === 1;
  const branch = (distance: number, { zero, asked }: Pick<Flags, "zero" | "asked">): Step => {
    const isTaken = zero === null ? null : zero !== isOne;
    return { kind: "branch", target: place + 4 * distance, next, isTaken, asked };
  };
  const unknown = { zero: null, asked: false };
  // B and BL.
  if (has(word, 0x7c00_0000, 0x1400_0000)) {
    const target = place + 4 * signed(field(word, 0, 26), 26);
    return { kind: word >>> 31 === 1 ? "call" : "jump", target, isPointer: false, next };
  }
  if (has(word, 0xff00_0000, 0x5400_0000)) {
    const isTaken = condition(field(word, 0, 4), flags);
    const target = place + 4 * signed(field(word, 5, 19), 19);
    return { kind: "branch", target, next, isTaken, asked: flags?.asked ?? false };
  }
  // CBZ and CBNZ, TBZ and TBNZ.
  if (has(word, 0x7e00_0000, 0x3400_0000)) {
    const name = field(word, 0, 5);
    const tested = numberIn(registers, name);
    const value = registers.get(name);
    const address = {
      zero: name !== stack && value !== undefined && "at" in value ? false : null,
      asked: false,
    };
    return branch(
      signed(field(word, 5, 19), 19),
      tested === null ? address : known.flagsOfResult(tested, bytes),
    );
  }
  if (has(word, 0x7e00_0000, 0x3600_0000)) {
    const tested = numberIn(registers, field(word, 0, 5));
    const bit = known.constant(2n ** BigInt((bytes === 8 ? 32 : 0) + field(word, 19, 5)));
    const left = tested === null ? unknown : known.flagsOfResult(known.and(tested, bit), 8);
    return branch(signed(field(word, 5, 14), 14), left);
  }
  // BR, BLR and RET, also with a signed address.
  if (has(word, 0xfe00_0000, 0xd600_0000)) {
    const kind = field(word, 21, 2);
    if (kind === 2) return { kind: "return" };
    const value = registers.get(field(word, 5, 5));
    const target = value !== undefined && "at" in value ? value.at : -1;
    return { kind: kind === 1 ? "call" : "jump", target, isPointer: false, next };
  }
  const isTrap = has(word, 0xffe0_001f, 0xd420_0000) || word >>> 16 === 0;
  return isTrap ? { kind: "trap" } : null;
}

/** Whether a condition holds, by what is known of the flags. Flags that are known come without an overflow (DDI 0487, C1.2.4). */
function condition(code: number, flags: Flags | null): boolean | null {
  if (code >= 14) return true;
  const [zero, carry, sign] = [flags?.zero ?? null, flags?.carry ?? null, flags?.sign ?? null];
  const isLess = sign;
  const above = both(carry, not(zero));
  const bit = [zero, carry, sign, null, above, not(isLess), both(not(isLess), not(zero))][code >> 1] ?? null;
  return (code & 1) === 0 ? bit : not(bit);
}

const not = (bit: boolean | null) => (bit === null ? null : !bit);
const both = (one: boolean | null, other: boolean | null) =>
  one === false || other === false ? false : one === null || other === null ? null : true;

/** The flags that a comparison leaves. The carry is set where the first number is not below the other. */
function compared(one: Bits, other: Bits, bytes: number): Flags {
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

/** Changes the registers, and returns the flags. */
function execute(word: number, place: number, state: State): Flags | null {
  const { registers, flags, answer, memory } = state;
  const [to, one, other] = [field(word, 0, 5), field(word, 5, 5), field(word, 16, 5)];
  const bytes = word >>> 31 === 1 ? 8 : 4;
  const set = (name: number, value: Value | null) => {
    if (value === null) registers.delete(name);
    else registers.set(name, "at" in value ? value : known.narrow(value, bytes));
  };
  /** Register 31 is zero: a write is lost. */
  const put = (value: Value | null) => {
    if (to !== stack) set(to, value);
  };
  // ADR and ADRP.
  if (has(word, 0x1f00_0000, 0x1000_0000)) {
    const distance = signed(field(word, 5, 19) * 4 + field(word, 29, 2), 21);
    const isPage = word >>> 31 === 1;
    put({ at: isPage ? (Math.floor(place / 4096) + distance) * 4096 : place + distance });
    return flags;
  }
  // ADD, SUB, CMP with a number.
  if (has(word, 0x1f80_0000, 0x1100_0000)) {
    const { value, left } = added(word, registers.get(one), bytes, memory.lengthAt !== undefined);
    const setsFlags = field(word, 29, 1) === 1;
    if (to !== stack || !setsFlags) set(to, value);
    return setsFlags ? left : flags;
  }
  // AND, ORR, EOR, ANDS with a number.
  if (has(word, 0x1f80_0000, 0x1200_0000))
    return logical(field(word, 29, 2), numberIn(registers, one), maskIn(word));
  // MOVN, MOVZ, MOVK.
  if (has(word, 0x1f80_0000, 0x1280_0000)) {
    const shift = 16n * BigInt(field(word, 21, 2));
    const number = BigInt(field(word, 5, 16)) << shift;
    const kind = field(word, 29, 2);
    const before = numberIn(registers, to);
    const rest = known.constant(~(0xffffn << shift));
    if (kind === 3) put(before === null ? null : known.or(known.and(before, rest), known.constant(number)));
    else put(known.constant(kind === 0 ? ~number : number));
    return flags;
  }
  // UBFM, SBFM and BFM: shifts by a number, and fields.
  if (has(word, 0x1f80_0000, 0x1300_0000)) {
    put(fieldOf(numberIn(registers, one) ?? known.noBits, numberIn(registers, to), word, bytes));
    return flags;
  }
  // AND, ORR, EOR, ANDS of registers, also with the second one inverted.
  if (has(word, 0x1f00_0000, 0x0a00_0000)) {
    const kind = field(word, 29, 2);
    const second = registers.get(other);
    if (kind === 1 && one === stack && field(word, 10, 6) === 0 && field(word, 21, 3) === 0) {
      put(other === stack ? known.constant(0) : (second ?? null));
      return flags;
    }
    const shifted = shiftedIn(numberIn(registers, other), word);
    const right = shifted !== null && field(word, 21, 1) === 1 ? known.not(shifted) : shifted;
    return logical(kind, numberIn(registers, one), right);
  }
  // CMP of registers.
  if (has(word, 0x7f20_0000, 0x6b00_0000)) {
    const [a, b] = [numberIn(registers, one), shiftedIn(numberIn(registers, other), word)];
    put(null);
    return a === null || b === null ? null : compared(a, b, bytes);
  }
  const counted = memory.lengthAt === undefined ? undefined : countedOf(word, registers, bytes);
  if (counted !== undefined) {
    put(counted);
    return flags;
  }
  const fields = fieldsIn(word);
  if (fields !== null) {
    put(answered(fields, answer));
    return flags;
  }
  const chosen = conditional(word, registers, flags);
  if (chosen !== null) {
    if (chosen.value !== undefined) put(chosen.value);
    return chosen.flags;
  }
  if (has(word, 0x0a00_0000, 0x0800_0000)) {
    access(word, state);
    return flags;
  }
  // CMP of the stack's register: Go looks first whether the stack has room.
  if (to !== stack || !has(word, 0x3fe0_0000, 0x2b20_0000)) registers.delete(to);
  return null;

  function logical(kind: number, a: Bits | null, b: Bits | null): Flags | null {
    const [left, right] = [a ?? known.noBits, b ?? known.noBits];
    const made = kind === 1 ? known.or : kind === 2 ? known.xor : known.and;
    const value = known.narrow(made(left, right), bytes);
    // ORR and AND with a number may lead to the stack's register.
    if (to !== stack) set(to, value);
    else if (kind !== 3) registers.delete(stack);
    return kind === 3 ? known.flagsOfResult(value, bytes) : flags;
  }
}

/** What ADD, SUB, LSL and LSR of registers leave, as for the rows of a list and the bit of a number; undefined for other instructions. */
function countedOf(word: number, registers: Known["registers"], bytes: number): Value | null | undefined {
  const [one, other] = [field(word, 5, 5), field(word, 16, 5)];
  const a = numberIn(registers, one);
  if (has(word, 0x3f20_0000, 0x0b00_0000)) {
    const second = known.numberOf(shiftedIn(numberIn(registers, other), word));
    if (second === null) return null;
    const [own, by] = [known.numberOf(a), field(word, 30, 1) === 1 ? -second : second];
    const first = registers.get(one) ?? null;
    return own === null ? known.sumOf(first, known.constant(by)) : known.constant(own + by, bytes);
  }
  if (!has(word, 0x7fe0_f800, 0x1ac0_2000)) return undefined;
  const count = known.numberOf(numberIn(registers, other));
  if (a === null || count === null) return null;
  const by = count & (8 * bytes - 1);
  return field(word, 10, 1) === 1 ? known.shiftRight(a, by, bytes) : known.shiftLeft(a, by);
}

/** What ADD and SUB of a number leave, and the flags of a comparison. */
function added(word: number, before: Value | undefined, bytes: number, counts: boolean) {
  const number = field(word, 10, 12) * (field(word, 22, 1) === 1 ? 4096 : 1);
  const isMinus = field(word, 30, 1) === 1;
  if (before === undefined) return { value: null, left: null };
  if ("at" in before) return { value: { at: before.at + (isMinus ? -number : number) }, left: null };
  const left = isMinus ? compared(before, known.constant(number), bytes) : null;
  const start = counts ? known.numberOf(before) : null;
  const sum = start === null ? null : known.constant(start + (isMinus ? -number : number), bytes);
  return { value: number === 0 ? before : sum, left };
}

/** CCMP, and CSEL with what follows it; null for other instructions. */
function conditional(
  word: number,
  registers: Known["registers"],
  flags: Flags | null,
): { readonly flags: Flags | null; readonly value?: Bits | null } | null {
  const [one, other] = [field(word, 5, 5), field(word, 16, 5)];
  const decided = condition(field(word, 12, 4), flags);
  const asked = flags?.asked ?? false;
  if (has(word, 0x7fe0_0410, 0x7a40_0000)) {
    const a = numberIn(registers, one);
    const b = field(word, 11, 1) === 1 ? known.constant(other) : numberIn(registers, other);
    const sign = (word & 1) === 0 ? (word & 8) !== 0 : null;
    if (decided === false) return { flags: { zero: (word & 4) !== 0, carry: (word & 2) !== 0, sign, asked } };
    if (decided === null || a === null || b === null) return { flags: null };
    const left = compared(a, b, word >>> 31 === 1 ? 8 : 4);
    return { flags: { ...left, asked: asked || left.asked } };
  }
  if (!has(word, 0x3fe0_0800, 0x1a80_0000)) return null;
  const chosen = numberIn(registers, decided === true ? one : other);
  const kind = field(word, 30, 1) * 2 + field(word, 10, 1);
  const number = known.numberOf(chosen);
  // CSINC, as CSET is, and CSINV.
  const changed =
    decided === true || kind === 0
      ? chosen
      : kind === 1 && number !== null
        ? known.constant(number + 1)
        : kind === 2 && chosen !== null
          ? known.not(chosen)
          : null;
  const isKnown = decided !== null && changed !== null;
  return { flags, value: isKnown ? { ...changed, asked: asked || changed.asked } : null };
}

/** LSL and LSR of a second operand; null for others. */
function shiftedIn(value: Bits | null, word: number): Bits | null {
  const [kind, count] = [field(word, 22, 2), field(word, 10, 6)];
  if (value === null || kind > 1) return null;
  return kind === 0 ? known.shiftLeft(value, count) : known.shiftRight(value, count);
}

/** The constant of a logical instruction: a run of ones, rotated and repeated (DDI 0487, DecodeBitMasks). */
function maskIn(word: number): Bits {
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

function fieldOf(value: Bits, before: Bits | null, word: number, bytes: number): Bits {
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
