/** Reads words of AArch64 code, and follows loads and stores (DDI 0487, C4.1, "Loads and Stores"). */

import * as known from "./known-bits.ts";
import type { Bits, Flags, Value } from "./known-bits.ts";
import type { Answer } from "./refusal-ways.ts";
import { firstData, type Known } from "./way-states.ts";

/** What the code finds in memory. */
export interface Memory {
  /** The word of code in a place; null outside code. */
  readonly codeAt: (place: number) => number | null;
  readonly pointerAt: (place: number) => number | null;
  readonly answerAt: (place: number) => Lists | null;
  /** Is told what a store leaves in a place that is not on the stack; null where nobody knows. */
  readonly wrote?: (place: number, value: Value | null, bytes: number) => void;
  /** A way keeps what is known of bytes that are not on the stack. */
  readonly keepsBytes?: boolean;
}

/** The names of the bits of an answer. A bit that several features have in common is in several lists. */
export type Lists = readonly (readonly string[])[];

/** The bits that a CPU without some features answers. */
export function answered(lists: Lists, answer: Answer): Bits {
  const zeros = lists.reduce((all, names) => all | answer(names, 0).zeros, 0n);
  return { zeros, ones: 0n, asked: true };
}

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

export interface State {
  readonly registers: Map<number, Value>;
  readonly flags: Flags | null;
  readonly memory: Memory;
  readonly answer: Answer;
}

/** Loads and stores. */
export function access(word: number, { registers, memory, answer }: State): void {
  const [to, base, second] = [field(word, 0, 5), field(word, 5, 5), field(word, 10, 5)];
  const isVector = field(word, 26, 1) === 1;
  const before = registers.get(base);
  const start = before !== undefined && "at" in before ? before.at : null;
  const move = (by: number) => {
    if (start === null) registers.delete(base);
    else registers.set(base, { at: start + by });
  };
  const load = (name: number, place: number | null, bytes: number) => {
    if (isVector || name === stack) return;
    const value = place === null ? null : read(place, bytes);
    if (value === null) registers.delete(name);
    else registers.set(name, value);
  };
  // LDP and STP.
  if (has(word, 0x3a00_0000, 0x2800_0000)) {
    const mode = field(word, 23, 2);
    const bytes = isVector ? 4 * 2 ** field(word, 30, 2) : word >>> 31 === 1 ? 8 : 4;
    const distance = bytes * signed(field(word, 15, 7), 7);
    const place = start === null ? null : start + (mode === 1 ? 0 : distance);
    if (field(word, 22, 1) === 1) {
      load(to, place, bytes);
      load(second, place === null ? null : place + bytes, bytes);
    } else if (place !== null) {
      store(to, place, bytes);
      store(second, place + bytes, bytes);
    }
    if (mode === 1 || mode === 3) move(distance);
    return;
  }
  const bytes = 2 ** field(word, 30, 2);
  const kind = field(word, 22, 2);
  // LDAR and STLR, which have no distance.
  if (has(word, 0x3fff_fc00, 0x08df_fc00)) {
    load(to, start, bytes);
    return;
  }
  if (has(word, 0x3fff_fc00, 0x089f_fc00)) {
    if (start !== null) store(to, start, bytes);
    return;
  }
  const isScaled = has(word, 0x3b00_0000, 0x3900_0000);
  const isPlain = has(word, 0x3b20_0000, 0x3800_0000);
  if (!isScaled && !isPlain) {
    if (!isVector)
      for (const name of [to, second, field(word, 16, 5)]) if (name !== stack) registers.delete(name);
    return;
  }
  const mode = isScaled ? 0 : field(word, 10, 2);
  const distance = isScaled ? field(word, 10, 12) * bytes : signed(field(word, 12, 9), 9);
  const place = start === null ? null : start + (mode === 1 ? 0 : distance);
  if (kind === 0 && place !== null) store(to, place, isVector ? 16 : bytes);
  else if (kind === 1) load(to, place, bytes);
  else if (kind > 1 && !isVector && to !== stack) {
    const value = place === null ? null : read(place, bytes);
    const number = value === null || "at" in value ? null : known.numberOf(value);
    if (number === null) registers.delete(to);
    else {
      const signed = BigInt.asIntN(8 * bytes, BigInt(number));
      registers.set(to, known.constant(signed, kind === 2 ? 8 : 4));
    }
  }
  if (mode === 1 || mode === 3) move(distance);

  function read(place: number, bytes: number): Value | null {
    const kept = registers.get(place);
    if (place < 0 || kept !== undefined)
      return kept === undefined
        ? null
        : "at" in kept
          ? bytes === 8
            ? kept
            : null
          : known.narrow(kept, bytes);
    const lists = memory.answerAt(place);
    if (lists !== null) return known.narrow(answered(lists, answer), bytes);
    const pointed = memory.pointerAt(place);
    return pointed === null ? null : { at: pointed };
  }

  function store(name: number, place: number, bytes: number): void {
    if (place >= 0) {
      const left = name === stack ? known.constant(0) : (registers.get(name) ?? null);
      memory.wrote?.(place, isVector ? null : left, bytes);
    }
    if (place >= 0 && (place < firstData || !memory.keepsBytes)) return;
    const before = place < 0 ? 8 : 1;
    for (const each of registers.keys())
      if (each > place - before && each < place + bytes && (each < 0 || each >= firstData))
        registers.delete(each);
    const value = isVector ? null : name === stack ? known.constant(0) : registers.get(name);
    if (value == null || (place >= 0 && bytes > 1)) return;
    const isKept =
      "at" in value ? value.at >= 0 && bytes === 8 : value.asked || known.numberOf(value) !== null;
    if (isKept) registers.set(place, value);
  }
}
