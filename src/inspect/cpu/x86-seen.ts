/**
 * Remembers the form and the length of x86-64 instructions by their bytes up to ModRM, which decide both with few exceptions (Intel SDM 2, 2.1). A
 * library has tens of millions of instructions and some ten thousand such beginnings, and each question to iced-x86 is a call into WebAssembly.
 */

import type { Code } from "iced-x86";
import { longest } from "./x86-jumps.ts";

const slotBits = 15;
/** Multiplies numbers apart: 2^32 divided by the golden ratio. */
const spread = 0x9e37_79b1;
/** A beginning that does not decide. */
const unclear = -1;
const evex = 0x62;
const moreShift = 24;
/** The bits of a form and a length. */
const seenBits = 2 ** moreShift - 1;

const firstOf = { shortVex: 2 ** 29, longVex: 2 ** 30 } as const;

/** Prefixes that are not taken here, EVEX and XOP, beside those that are: no opcodes (SDM 2, table A-2). */
const noOpcodes = [0x26, 0x2e, 0x36, 0x3e, 0x62, 0x64, 0x65, 0x66, 0x67, 0x8f, 0xc4, 0xc5, 0xf0, 0xf2, 0xf3];
const isOpcode = new Uint8Array(256).fill(1).fill(0, 0x40, 0x50);
for (const byte of noOpcodes) isOpcode[byte] = 0;

/** `find` tells the form and the length in one number, as {@link asSeen} makes it; 0 asks for the answer by `keep`. */
export function seenInstructions() {
  // A beginning, and behind it what was found: one line of the processor's cache has both.
  const slots = new Int32Array(2 * 2 ** slotBits).fill(unclear);
  const slotOf = (beginning: number) => 2 * (Math.imul(beginning, spread) >>> (32 - slotBits));
  let asked = unclear;
  /** EVEX has a byte more than a beginning holds. */
  let more = 0;
  return {
    find(bytes: Uint8Array, at: number): number {
      const isEvex = bytes[at] === evex;
      asked =
        at + longest > bytes.length ? unclear : isEvex ? beginningOfEvex(bytes, at) : beginningAt(bytes, at);
      more = isEvex ? (bytes[at + 1] ?? 0) << moreShift : 0;
      const slot = slotOf(asked);
      const found = slots[slot + 1] ?? 0;
      return slots[slot] === asked && asked !== unclear && (found & ~seenBits) === more
        ? found & seenBits
        : 0;
    },
    keep(seen: number): void {
      if (asked === unclear) return;
      const slot = slotOf(asked);
      slots[slot] = asked;
      slots[slot + 1] = more | seen;
    },
  };
}

export const asSeen = (form: Code, length: number): number => (form << 4) | length;
export const formOf = (seen: number): Code => seen >>> 4;
export const lengthOf = (seen: number): number => seen & 15;

const isGather = new Uint8Array(256).fill(1, 0x90, 0x94).fill(1, 0xa0, 0xa4).fill(1, 0xc6, 0xc8);

/** Prefixes, map, opcode and ModRM; where an opcode has no ModRM, the byte behind the opcode. */
function beginningAt(bytes: Uint8Array, start: number): number {
  let at = start;
  let byte = bytes[at] ?? 0;
  let head = 0;
  if (byte === 0xc5) head = firstOf.shortVex | ((bytes[++at] ?? 0) << 16);
  else if (byte === 0xc4) {
    const [first, second] = [bytes[++at] ?? 0, bytes[++at] ?? 0];
    const map = first & 31;
    if (map === 0 || map > 3) return unclear;
    head = firstOf.longVex | (((first >> 3) & 28) << 24) | (map << 24) | (second << 16);
  } else {
    if (byte === 0x66 || byte === 0xf2 || byte === 0xf3) {
      head = (byte === 0x66 ? 1 : byte & 3) << 18;
      byte = bytes[++at] ?? 0;
    }
    if (byte >> 4 === 4) {
      head |= ((byte & 15) | 16) << 20;
      byte = bytes[++at] ?? 0;
    }
    if (byte === 0x0f) {
      byte = bytes[++at] ?? 0;
      const map = byte === 0x38 ? 2 : byte === 0x3a ? 3 : 1;
      // The last byte of an instruction of 3DNow! is its opcode.
      if (byte === 0x0f) return unclear;
      head |= map << 16;
      if (map === 1) at--;
    } else if (isOpcode[byte] === 0) return unclear;
    else at--;
  }
  const opcode = bytes[++at] ?? 0;
  const form = bytes[at + 1] ?? 0;
  // A base of 5 without a displacement is one (SDM 2, table 2-3).
  if ((form & 0xc7) === 4 && ((bytes[at + 2] ?? 0) & 7) === 5) return unclear;
  // A gather is none where two of its registers are the same.
  if (head >= firstOf.longVex && ((head >> 24) & 3) === 2 && opcode >= 0x90 && opcode <= 0x93) return unclear;
  return head | (opcode << 8) | form;
}

/** The bytes behind the second one (SDM 2, 2.7.1): with that one, all that decides but a base, and the registers of a gather or scatter. */
function beginningOfEvex(bytes: Uint8Array, start: number): number {
  const opcode = bytes[start + 4] ?? 0;
  const form = bytes[start + 5] ?? 0;
  if ((form & 0xc7) === 4 && ((bytes[start + 6] ?? 0) & 7) === 5) return unclear;
  if (isGather[opcode] === 1 || bytes[start + 1] === 0) return unclear;
  return ((bytes[start + 2] ?? 0) << 24) | ((bytes[start + 3] ?? 0) << 16) | (opcode << 8) | form;
}
