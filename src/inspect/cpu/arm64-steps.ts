/**
 * Takes the single steps of a way through AArch64 code, as far as constants, addresses and the CPU's answer are known (DDI 0487, C4.1 and C6.2).
 * What another instruction writes is unknown.
 */

import { access, answered, type Memory, type State } from "./arm64-memory.ts";
import { compared, fieldOf, maskIn, shiftedIn, summed } from "./arm64-numbers.ts";
import { fieldsIn } from "./arm64-registers.ts";
import { executeVector } from "./arm64-vectors.ts";
import { field, has, numberIn, signed, stack } from "./arm64-words.ts";
import type { Bits, Flags, Value } from "./known-bits.ts";
import * as known from "./known-bits.ts";
import type { Answer, Machine, Step } from "./way-parts.ts";
import type { Known } from "./way-states.ts";

/** X19 to X29 and the stack (AAPCS64, "General-purpose registers"). */
const kept: ReadonlySet<number> = new Set([...Array.from({ length: 11 }, (_, each) => 19 + each), stack]);
/** X9 to X18 hand nothing on. */
const temporary: ReadonlySet<number> = new Set(Array.from({ length: 10 }, (_, each) => 9 + each));
/** Go gives back no register of the caller's, but the goroutine's and those of the stack (Go, src/cmd/compile/abi-internal.md). */
export const keptByGo: ReadonlySet<number> = new Set([28, 29, stack]);

export function arm64Machine(memory: Memory, answer: Answer, keeps = kept): Machine {
  let last: Map<number, Value> | null = null;
  return {
    ...{
      result: 0,
      arguments: [0],
      stack,
      kept: keeps,
      untaken: keeps === kept ? temporary : new Set<number>(),
      free: () => {},
    },
    ...(keeps === kept ? { isThorough: true, long: 8 } : { moreResults: [1, 2, 3, 4, 5], context: 26 }),
    step(place, before) {
      const word = memory.codeAt(place);
      if (word === null) return { kind: "lost" };
      const flow = flowOf(word, place, before);
      // Nobody keeps what a step has left but in front of a branch: the next step changes it in place.
      const isOwn = before.registers === last;
      last = null;
      if (flow !== null) return flow;
      const registers = isOwn ? (before.registers as Map<number, Value>) : new Map(before.registers);
      last = registers;
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
    const target = value === undefined ? -1 : "at" in value ? value.at : (known.numberOf(value) ?? -1);
    return { kind: kind === 1 ? "call" : "jump", target, isPointer: false, next };
  }
  return isTrap(word) ? { kind: "trap" } : null;
}

/** BRK, and UDF. */
export const isTrap = (word: number) => has(word, 0xffe0_001f, 0xd420_0000) || word >>> 16 === 0;

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

/** Changes the registers, and returns the flags. */
function execute(word: number, place: number, state: State): Flags | null {
  const { registers, flags, answer } = state;
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
  const sum = summed(word, registers, bytes);
  if (sum !== null) {
    if (to !== stack || sum.toStack) set(to, sum.value);
    return sum.flags === undefined ? flags : sum.flags;
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
    const plain = shifted !== null && "at" in shifted ? null : shifted;
    const right = plain !== null && field(word, 21, 1) === 1 ? known.not(plain) : plain;
    return logical(kind, numberIn(registers, one), right);
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
  if (executeVector(word, registers)) return flags;
  registers.delete(to);
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

/** CCMP, and CSEL with what follows it; null for other instructions. */
function conditional(
  word: number,
  registers: Known["registers"],
  flags: Flags | null,
): { readonly flags: Flags | null; readonly value?: Value | null } | null {
  const [one, other] = [field(word, 5, 5), field(word, 16, 5)];
  const decided = condition(field(word, 12, 4), flags);
  const asked = flags?.asked ?? false;
  if (has(word, 0x7fe0_0410, 0x7a40_0000)) {
    const a = numberIn(registers, one);
    const b = field(word, 11, 1) === 1 ? known.constant(other) : numberIn(registers, other);
    const sign = (word & 1) === 0 ? (word & 8) !== 0 : null;
    const given = { zero: (word & 4) !== 0, carry: (word & 2) !== 0, sign, asked };
    if (decided === false) return { flags: given };
    const left = a === null || b === null ? null : compared(a, b, word >>> 31 === 1 ? 8 : 4);
    if (decided === true) return { flags: left && { ...left, asked: asked || left.asked } };
    // What both have in common.
    const either = (name: "zero" | "carry" | "sign") => (left?.[name] === given[name] ? given[name] : null);
    const isAsked = asked || left?.asked === true;
    const [zero, carry] = [either("zero"), either("carry")];
    return { flags: isAsked ? { zero, carry, sign: either("sign"), asked: isAsked } : null };
  }
  if (!has(word, 0x3fe0_0800, 0x1a80_0000)) return null;
  const kind = field(word, 30, 1) * 2 + field(word, 10, 1);
  const [first, second] = [numberIn(registers, one), changed(numberIn(registers, other), kind)];
  if (decided !== null) {
    const value = decided ? first : second;
    return { flags, value: value === null ? addressIn() : { ...value, asked: asked || value.asked } };
  }
  // One of two numbers, by the CPU's answer.
  if (!asked) return { flags, value: null };
  const either = first === null || second === null ? known.noBits : known.oneOf(first, second);
  return { flags, value: { ...either, asked } };

  function addressIn(): Value | null {
    const value = decided === true || kind === 0 ? registers.get(decided === true ? one : other) : undefined;
    return value !== undefined && "at" in value ? value : null;
  }
}

/** What CSEL, CSINC, as CSET is, and CSINV make of the second number. */
function changed(value: Bits | null, kind: number): Bits | null {
  if (value === null || kind === 0) return value;
  const number = known.numberOf(value);
  if (kind === 1) return number === null ? null : known.constant(number + 1);
  return kind === 2 ? known.not(value) : null;
}
