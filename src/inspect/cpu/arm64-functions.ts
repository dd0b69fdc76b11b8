/** Reads functions of AArch64 code: the words of each, the functions that it calls, and the stubs before a function. */

import { remember } from "../../io/collections.ts";
import type { ByteSource } from "../byte-source.ts";
import { type Elf, offsetOfAddress } from "../elf/elf.ts";
import { u32 } from "../little-endian.ts";
import { has } from "./arm64-words.ts";
import type { readFunctionRanges } from "./function-ranges.ts";
import { roomsOf } from "./function-rooms.ts";
import { longestAnswer } from "./way-calls.ts";

export interface ArmWord {
  readonly at: number;
  readonly word: number;
}

export type ArmFunctions = ReturnType<typeof arm64Functions>;

export function arm64Functions(source: ByteSource, elf: Elf, ranges: ReturnType<typeof readFunctionRanges>) {
  const rooms = roomsOf(elf, ranges);
  const words = new Map<number, number | null>();
  const blocks = new Map<number, Uint8Array>();
  const codeAt = (place: number) =>
    remember(words, place, () => {
      const offset = rooms.endAround(place) === null ? null : offsetOfAddress(elf, place);
      if (offset === null || place % 4 !== 0) return null;
      const at = offset % blockBytes;
      const block = remember(blocks, offset - at, () => source.read(offset - at, blockBytes + 4));
      return at + 4 > block.length ? null : u32(block, at);
    });
  const lengthFrom = (address: number) => (rooms.endAround(address) ?? Number.POSITIVE_INFINITY) - address;
  const bytesIn = (address: number, size: number): Uint8Array => {
    const offset = Number.isFinite(size) && address % 4 === 0 ? offsetOfAddress(elf, address) : null;
    return offset === null ? noBytes : source.read(offset, size);
  };
  const wordsIn = (address: number, size: number): readonly ArmWord[] => {
    const bytes = bytesIn(address, size);
    return Array.from({ length: bytes.length >> 2 }, (_, each) => ({
      at: address + 4 * each,
      word: u32(bytes, 4 * each),
    }));
  };
  const sizeFrom = (address: number, longest: number) =>
    Number.isFinite(lengthFrom(address)) ? Math.min(lengthFrom(address), longest) : 0;
  let last: { address: number; size: number; words: readonly ArmWord[] } = {
    address: -1,
    size: 0,
    words: [],
  };
  return {
    ...{ isStart: rooms.isStart, endAround: rooms.endAround, lengthFrom, wordsIn },
    /** The word in a place; null outside code. */
    codeAt,
    /** True for code from an address on in which a word is as wanted. */
    hasWord(address: number, longest: number, isWanted: (word: number) => boolean): boolean {
      const bytes = bytesIn(address, sizeFrom(address, longest));
      for (let at = 0; at + 4 <= bytes.length; at += 4) if (isWanted(u32(bytes, at))) return true;
      return false;
    },
    /** The words from an address to the end of the function, and no more than so many bytes. */
    codeOf(address: number, longest = longestAnswer): readonly ArmWord[] {
      const size = sizeFrom(address, longest);
      if (size <= longestAnswer) return wordsIn(address, size);
      // Of a long `main` the words are asked for again and again.
      if (last.address !== address || last.size !== size)
        last = { address, size, words: wordsIn(address, size) };
      return last.words;
    },
  };
}

const noBytes = new Uint8Array(0);
const blockBytes = 4096;

/** Where B and BL lead. */
export const targetIn = (at: number, word: number) => at + 4 * ((word << 6) >> 6);

/** The target of BL. */
export function callIn({ word, at }: ArmWord): number | null {
  return word >>> 26 === 0x25 ? targetIn(at, word) : null;
}

/** The targets of all BL. */
export const calledIn = (words: readonly ArmWord[]) => words.flatMap((each) => callIn(each) ?? []);

/** The target of B. */
export function jumpIn({ word, at }: ArmWord): number | null {
  return word >>> 26 === 5 ? targetIn(at, word) : null;
}

/** Branches, calls and what ends a way; not the system's registers and hints. */
export const leadsElsewhere = (word: number) =>
  has(word, 0x1c00_0000, 0x1400_0000) && !has(word, 0xff00_0000, 0xd500_0000);

/** The page of ADRP. */
export function pageIn({ word, at }: ArmWord): number | null {
  if (!has(word, 0x9f00_0000, 0x9000_0000)) return null;
  return Math.floor(at / 4096) + (((word << 8) >> 13) * 4 + ((word >>> 29) & 3));
}

/** NOP, and BTI C. */
const nop = 0xd503_201f;
export const landing = 0xd503_245f;

/** BTI, ADRP and LDR. */
export const mostStubBytes = 8;
/** LDR of X17 by X16. */
export const isStubLoad = (word: number) => has(word, 0xffc0_03ff, 0xf940_0211);

/** The place in a table of pointers to which a stub jumps: ADRP and LDR of X17 by X16 (AAELF64, "Procedure Linkage Table"). */
export function armStubOf({ codeAt }: Pick<ArmFunctions, "codeAt">, target: number): number | null {
  const first = codeAt(target) === landing ? target + 4 : target;
  const page = pageIn({ at: first, word: codeAt(first) ?? 0 });
  const load = codeAt(first + 4) ?? 0;
  return page !== null && isStubLoad(load) ? page * 4096 + ((load >>> 10) & 0xfff) * 8 : null;
}

/** A program that may be anywhere has a stub that jumps to `main`. */
export function behindStub(main: number, { codeAt }: Pick<ArmFunctions, "codeAt">): number {
  const first = codeAt(main);
  const at = first === nop || first === landing ? main + 4 : main;
  return jumpIn({ at, word: codeAt(at) ?? 0 }) ?? main;
}

/** The number with which CMP compares X0. */
export const comparedIn = (word: number) =>
  has(word, 0xffc0_03ff, 0xf100_001f) ? (word >>> 10) & 0xfff : null;
/** A step of 16: by LDR, before or after the load, or by ADD to the same register. */
export const isStep = (word: number) =>
  has(word, 0xffff_f400, 0xf841_0400) ||
  (has(word, 0xffff_fc00, 0x9100_4000) && (word & 31) === ((word >>> 5) & 31));

/**
 * The C library's own getauxval in a static program without names. glibc's compares its argument with AT_HWCAP and AT_HWCAP2 before all others; musl's
 * with AT_SECURE, and then goes through the kernel's pairs of numbers, of 16 bytes each (glibc and musl, getauxval.c).
 */
export function isGetauxval({ codeOf }: Pick<ArmFunctions, "codeOf">, target: number): boolean {
  const head = codeOf(target, 48).map(({ word }) => word);
  const start = head.findIndex((word) => comparedIn(word) !== null);
  // What leads elsewhere before is another function.
  if (start < 0 || head.slice(0, start).some(leadsElsewhere)) return false;
  const [first, second] = head.flatMap((word) => comparedIn(word) ?? []);
  return (first === 16 && second === 26) || (first === 23 && codeOf(target).some(({ word }) => isStep(word)));
}

/** A function that ends the program by what it calls, as Rust's own exit does: there is no way back, nor to another function. */
export function isEndless({ codeOf, lengthFrom }: ArmFunctions, target: number): boolean {
  const code = lengthFrom(target) <= longestAnswer ? codeOf(target) : [];
  const end = target + 4 * code.length;
  const leaves = (each: ArmWord) => {
    const jump = jumpIn(each);
    // BR and RET.
    const isFar = has(each.word, 0xfe00_0000, 0xd600_0000) && !has(each.word, 0x00e0_0000, 0x0020_0000);
    return isFar || (jump !== null && (jump < target || jump >= end));
  };
  return code.some((each) => callIn(each) !== null) && !code.some(leaves);
}

/** True for a function that gives back the address of a value and in X1 that of a table of functions, as Rust gives an error back. */
export function givesObject(code: readonly ArmWord[]): boolean {
  const ends = code.flatMap(({ word }, index) => (word === 0xd65f_03c0 ? index : []));
  const isAddress = (index: number) => {
    const before = code.slice(Math.max(0, index - 12), index).map(({ word }) => word);
    const page = before.findLastIndex((word) => has(word, 0x9f00_001f, 0x9000_0001));
    return page >= 0 && before.slice(page).some((word) => has(word, 0xffc0_03ff, 0x9100_0021));
  };
  return ends.length > 0 && ends.every(isAddress);
}
