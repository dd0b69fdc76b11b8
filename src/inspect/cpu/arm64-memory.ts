/** Follows loads and stores of AArch64 code (DDI 0487, C4.1, "Loads and Stores"). */

import { extendedIn } from "./arm64-numbers.ts";
import { halvesOf, setHalf } from "./arm64-vectors.ts";
import { field, has, numberIn, signed, stack } from "./arm64-words.ts";
import type { Bits, Flags, Value } from "./known-bits.ts";
import * as known from "./known-bits.ts";
import type { Answer } from "./way-parts.ts";
import { firstData, firstObject, isAsked } from "./way-states.ts";

/** What the code finds in memory. */
export interface Memory {
  /** The word of code in a place; null outside code. */
  readonly codeAt: (place: number) => number | null;
  readonly pointerAt: (place: number) => number | null;
  readonly answerAt: (place: number) => Lists | null;
  /** What so many bytes are that nobody writes to while the program runs; null for others. */
  readonly constantAt?: (place: number, bytes: number) => Value | null;
  /** Is told what a store leaves in a place that is not on the stack; null where nobody knows the place, or the value. */
  readonly wrote?: (place: number | null, value: Value | null, bytes: number) => void;
  /** The length of a list at the start of the program. Where somebody counts, a way also keeps what is known of bytes that are not on the stack. */
  readonly lengthAt?: (place: number) => number | null;
  /** Hears which data a way reads that was kept there before, or at the start of the program; `isAddress` of what stands there. */
  readonly relies?: (place: number, isAddress: boolean) => void;
}

/** The names of the bits of an answer. A bit that several features have in common is in several lists. */
export type Lists = readonly (readonly string[])[];

/** The bits that a CPU without some features answers; those that it has as well where somebody looks. */
export function answered(lists: Lists, answer: Answer, hasOnes = false): Bits {
  const all = lists.map((names) => answer(names, 0));
  const zeros = all.reduce((sum, each) => sum | each.zeros, 0n);
  const ones = hasOnes ? all.reduce((sum, each) => sum & each.ones, known.maskOf(8)) : 0n;
  return { zeros, ones, asked: true };
}

export interface State {
  readonly registers: Map<number, Value>;
  readonly flags: Flags | null;
  readonly memory: Memory;
  readonly answer: Answer;
}

/** Loads and stores. */
export function access(word: number, state: State): void {
  const { registers } = state;
  const [to, base, second] = [field(word, 0, 5), field(word, 5, 5), field(word, 10, 5)];
  const isVector = field(word, 26, 1) === 1;
  const { read, load, store } = placesOf(state, isVector);
  const before = registers.get(base);
  const start = before !== undefined && "at" in before ? before.at : null;
  const move = (by: number) => {
    if (start === null) registers.delete(base);
    else registers.set(base, { at: start + by });
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
    } else {
      store(to, place, bytes);
      store(second, place === null ? null : place + bytes, bytes);
    }
    if (mode === 1 || mode === 3) move(distance);
    return;
  }
  const isLong = isVector && field(word, 23, 1) === 1;
  const bytes = isLong ? 16 : 2 ** field(word, 30, 2);
  const kind = isLong ? field(word, 22, 1) : field(word, 22, 2);
  // LDAR and STLR, which have no distance.
  if (has(word, 0x3fff_fc00, 0x08df_fc00)) {
    load(to, start, bytes);
    return;
  }
  if (has(word, 0x3fff_fc00, 0x089f_fc00)) {
    store(to, start, bytes);
    return;
  }
  const isScaled = has(word, 0x3b00_0000, 0x3900_0000);
  const isPlain = has(word, 0x3b20_0000, 0x3800_0000);
  const isByRegister = has(word, 0x3b20_0c00, 0x3820_0800);
  if (!isScaled && !isPlain && !isByRegister) {
    if (isVector) for (const half of halvesOf(to)) registers.delete(half);
    else for (const name of [to, second, field(word, 16, 5)]) if (name !== stack) registers.delete(name);
    return;
  }
  const mode = isPlain ? field(word, 10, 2) : 0;
  const index = isByRegister ? indexIn() : 0;
  const distance = isScaled ? field(word, 10, 12) * bytes : isPlain ? signed(field(word, 12, 9), 9) : index;
  const place = start === null || distance === null ? null : start + (mode === 1 ? 0 : distance);
  if (kind === 0) store(to, place, bytes);
  else if (kind === 1) load(to, place, bytes);
  else if (kind > 1 && !isVector && to !== stack) {
    const value = place === null ? null : read(place, bytes);
    const number = value === null || "at" in value ? null : known.numberOf(value);
    if (number === null && value !== null && isAsked(value))
      registers.set(to, { ...known.noBits, asked: true });
    else if (number === null) registers.delete(to);
    else {
      const signed = BigInt.asIntN(8 * bytes, BigInt(number));
      registers.set(to, known.constant(signed, kind === 2 ? 8 : 4));
    }
  }
  if ((mode === 1 || mode === 3) && distance !== null) move(distance);

  function indexIn(): number | null {
    const count = field(word, 12, 1) === 1 ? Math.log2(bytes) : 0;
    const value = numberIn(registers, field(word, 16, 5));
    return known.numberOf(extendedIn(value, field(word, 13, 3), count));
  }
}

/** What a way knows of places: reads and leaves numbers. */
function placesOf({ registers, memory, answer }: State, isVector: boolean) {
  return { read, load, store };

  function load(name: number, place: number | null, bytes: number): void {
    if (isVector) {
      for (const [half, key] of halvesOf(name).entries()) {
        const [at, own] = [place === null ? null : place + 8 * half, Math.min(8, bytes - 8 * half)];
        const value = at === null ? null : own <= 0 ? known.constant(0) : read(at, own);
        // Go copies lists of addresses so.
        const isKept = value === null || !("at" in value) || memory.lengthAt !== undefined;
        setHalf(registers, key, isKept ? value : null);
      }
      return;
    }
    if (name === stack) return;
    const value = place === null ? null : read(place, bytes);
    if (value === null) registers.delete(name);
    else registers.set(name, value);
  }

  function store(name: number, place: number | null, bytes: number): void {
    if (!isVector) {
      leave(place, name === stack ? known.constant(0) : (registers.get(name) ?? null), bytes);
      return;
    }
    for (const [half, key] of halvesOf(name).entries()) {
      const own = Math.min(8, bytes - 8 * half);
      const value = registers.get(key) ?? null;
      if (own <= 0) continue;
      if (value !== null && "at" in value) {
        leave(place === null ? null : place + 8 * half, value, own);
        continue;
      }
      // On the stack words are kept one by one: structures have members of four bytes.
      const width = place !== null && place < 0 ? Math.min(4, own) : own;
      for (let at = 0; at < own; at += width)
        leave(
          place === null ? null : place + 8 * half + at,
          value && known.narrow(value, width, 8 * at),
          width,
        );
    }
  }

  function read(place: number, bytes: number): Value | null {
    const kept = keptAt(place, bytes);
    if (kept !== null && place >= 0) memory.relies?.(place, "at" in kept);
    if (place < 0 || kept !== null) return kept;
    const lists = memory.answerAt(place);
    if (lists !== null) return known.narrow(answered(lists, answer, memory.lengthAt !== undefined), bytes);
    const pointed = memory.pointerAt(place);
    if (pointed !== null) memory.relies?.(place, true);
    if (pointed !== null) return { at: pointed };
    const length = memory.lengthAt?.(place) ?? null;
    if (length !== null) memory.relies?.(place, false);
    return length === null
      ? (memory.constantAt?.(place, bytes) ?? null)
      : known.narrow(known.constant(length), bytes);
  }

  /** What a way knows of a place, or of the later bytes of one. */
  function keptAt(place: number, bytes: number): Value | null {
    const kept = registers.get(place);
    if (kept !== undefined) {
      if ("at" in kept) return bytes === 8 ? kept : null;
      const above = bytes === 8 ? registers.get(place + 4) : undefined;
      if (above === undefined || "at" in above) return known.narrow(kept, bytes);
      return known.or(known.narrow(kept, 4), known.shiftLeft(known.narrow(above, 4), 32));
    }
    if (place >= 0) return null;
    const before = [1, 2, 3, 4, 5, 6, 7].find((by) => registers.has(place - by)) ?? 8;
    const around = registers.get(place - before);
    if (around === undefined || "at" in around) return null;
    const cut = known.narrow(around, bytes, 8 * before);
    return ((cut.zeros | cut.ones) & known.maskOf(Math.min(bytes, 8 - before))) === 0n ? null : cut;
  }

  function leave(place: number | null, value: Value | null, bytes: number): void {
    if (place === null || place >= 0) memory.wrote?.(place, value, bytes);
    if (place === null || (place >= 0 && (place < firstData || memory.lengthAt === undefined))) return;
    // Go keeps answers side by side in a structure.
    const before = place < 0 ? 8 : 1;
    for (const [each, old] of registers) {
      if (each <= place - before || each >= place + bytes || (each >= 0 && each < firstData)) continue;
      // Of a longer one the bytes in front of the place stay.
      if (each < place && !("at" in old)) registers.set(each, known.lowest(old, place - each));
      else registers.delete(each);
    }
    const isFunction = place >= firstObject && value !== null && "at" in value;
    if (value === null || (place >= 0 && bytes > 1 && !isFunction)) return;
    if ("at" in value) {
      if (bytes === 8) registers.set(place, value);
    } else if (value.asked || known.numberOf(value) !== null)
      registers.set(place, known.lowest(value, bytes));
  }
}
