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
  /** The length of a list at the start of the program. Where somebody counts, a way also keeps what is known of bytes that are not on the stack. */
  readonly lengthAt?: (place: number) => number | null;
}

/** The names of the bits of an answer. A bit that several features have in common is in several lists. */
export type Lists = readonly (readonly string[])[];

/** The bits that a CPU without some features answers. */
export function answered(lists: Lists, answer: Answer): Bits {
  const all = lists.map((names) => answer(names, 0));
  const zeros = all.reduce((sum, each) => sum | each.zeros, 0n);
  return { zeros, ones: all.reduce((sum, each) => sum & each.ones, known.maskOf(8)), asked: true };
}

/** Where the halves of vector registers stand among the registers. */
const vectors = 2048;
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
export function access(word: number, state: State): void {
  const { registers, memory } = state;
  const [to, base, second] = [field(word, 0, 5), field(word, 5, 5), field(word, 10, 5)];
  const isVector = field(word, 26, 1) === 1;
  const before = registers.get(base);
  const start = before !== undefined && "at" in before ? before.at : null;
  const move = (by: number) => {
    if (start === null) registers.delete(base);
    else registers.set(base, { at: start + by });
  };
  const load = (name: number, place: number | null, bytes: number) => {
    if (isVector) loadVector(name, bytes === 16 ? place : null, state);
    if (isVector || name === stack) return;
    const value = place === null ? null : readAt(place, bytes, state);
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
      store(to, place, bytes, isVector, state);
      store(second, place + bytes, bytes, isVector, state);
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
    if (start !== null) store(to, start, bytes, isVector, state);
    return;
  }
  const isScaled = has(word, 0x3b00_0000, 0x3900_0000);
  const isPlain = has(word, 0x3b20_0000, 0x3800_0000);
  // LDR and STR with a register as the distance, which rows of a list have.
  const isIndexed = memory.lengthAt !== undefined && has(word, 0x3b20_ec00, 0x3820_6800);
  const row = isIndexed ? known.numberOf(numberIn(registers, field(word, 16, 5))) : null;
  if (!isScaled && !isPlain && row === null) {
    if (!isVector)
      for (const name of [to, second, field(word, 16, 5)]) if (name !== stack) registers.delete(name);
    return;
  }
  const mode = isScaled || isIndexed ? 0 : field(word, 10, 2);
  const distance = isScaled
    ? field(word, 10, 12) * bytes
    : row === null
      ? signed(field(word, 12, 9), 9)
      : row * (field(word, 12, 1) === 1 ? bytes : 1);
  const place = start === null ? null : start + (mode === 1 ? 0 : distance);
  if (kind === 0 && place !== null) store(to, place, isVector ? 16 : bytes, isVector, state);
  else if (kind === 1) load(to, place, bytes);
  else if (kind > 1 && !isVector && to !== stack) {
    const value = place === null ? null : readAt(place, bytes, state);
    const number = value === null || "at" in value ? null : known.numberOf(value);
    if (number === null) registers.delete(to);
    else {
      const signed = BigInt.asIntN(8 * bytes, BigInt(number));
      registers.set(to, known.constant(signed, kind === 2 ? 8 : 4));
    }
  }
  if (mode === 1 || mode === 3) move(distance);
}

/** What is known of a place in memory. */
function readAt(place: number, bytes: number, { registers, memory, answer }: State): Value | null {
  const kept = registers.get(place);
  if (kept !== undefined && "at" in kept) return bytes === 8 ? kept : null;
  if (place < 0 || kept !== undefined) return kept === undefined ? null : known.narrow(kept, bytes);
  const lists = memory.answerAt(place);
  if (lists !== null) return known.narrow(answered(lists, answer), bytes);
  const pointed = memory.pointerAt(place);
  if (pointed !== null) return { at: pointed };
  const length = memory.lengthAt?.(place) ?? null;
  return length === null ? null : known.narrow(known.constant(length), bytes);
}

/** Go copies structures through vectors, of which two halves stand beside the registers. */
function loadVector(name: number, place: number | null, state: State): void {
  for (const half of [0, 1]) {
    const isRead = place !== null && state.memory.lengthAt !== undefined;
    const value = isRead ? readAt(place + 8 * half, 8, state) : null;
    if (value === null) state.registers.delete(vectors + 2 * name + half);
    else state.registers.set(vectors + 2 * name + half, value);
  }
}

/** A store of a register, or of a vector. */
function store(name: number, place: number, bytes: number, isVector: boolean, state: State): void {
  const { registers, memory } = state;
  if (isVector && bytes === 16 && memory.lengthAt !== undefined)
    for (const half of [0, 1])
      keepAt(registers.get(vectors + 2 * name + half) ?? null, place + 8 * half, 8, state);
  else {
    const value = name === stack ? known.constant(0) : (registers.get(name) ?? null);
    keepAt(isVector ? null : value, place, bytes, state);
  }
}

function keepAt(value: Value | null, place: number, bytes: number, { registers, memory }: State): void {
  if (place >= 0) memory.wrote?.(place, value, bytes);
  const counts = memory.lengthAt !== undefined;
  if (place >= 0 && (place < firstData || !counts)) return;
  // Go keeps answers side by side in a structure.
  const before = place < 0 && (bytes > 1 || !counts) ? 8 : 1;
  for (const each of registers.keys())
    if (each > place - before && each < place + bytes && (each < 0 || each >= firstData))
      registers.delete(each);
  if (value === null || (place >= 0 && bytes > 1)) return;
  const isKept =
    "at" in value ? (value.at >= 0 || counts) && bytes === 8 : value.asked || known.numberOf(value) !== null;
  if (isKept) registers.set(place, value);
}
