/** Reads functions of Go programs by either CPU: what they call, read and write, and whose addresses they take. */

import type { ByteSource } from "../byte-source.ts";
import { remember } from "../../io/collections.ts";
import { type Elf, offsetOfAddress } from "../elf/elf.ts";
import { u32, u64 } from "../little-endian.ts";
import { type ArmWord, arm64Functions, calledIn, pageIn } from "./arm64-functions.ts";
import type { Memory } from "./arm64-memory.ts";
import { field, has } from "./arm64-words.ts";
import { arm64Machine, keptByGo } from "./arm64-steps.ts";
import { armConstants } from "./arm64-constants.ts";
import { areWrittenByArm } from "./arm64-writers.ts";
import type { AskedWords } from "./asked-words.ts";
import type { FixedPointers } from "./fixed-pointers.ts";
import type { readFunctionRanges } from "./function-ranges.ts";
import type { Walk } from "./refusal-ways.ts";
import type { Callees } from "./way-parts.ts";
import { functionReader, type X86Instruction } from "./x86-functions.ts";
import { areWritten, type Kept } from "./x86-writers.ts";
import { x86GoConvention, x86Machine } from "./x86-steps.ts";

interface Asking extends Pick<Callees, "endOf" | "mayAnswer" | "go" | "longest">, Pick<AskedWords, "relies"> {
  /** The names of the bits that a called function gives back; null where no need is told. */
  readonly givenBack: (target: number) => readonly string[] | null;
  /** The names of the bits of answers, by their places. */
  readonly answers: ReadonlyMap<number, readonly string[]>;
  /** The names of bits that are tested by a number that nobody knows; null where nobody is asked so. */
  readonly anyBit: readonly string[] | null;
}

/** Each function is known by its address. */
export interface GoCode {
  /** Functions that have no more bytes than `longest`, and those of `others`. */
  readonly called: (start: number, longest: number, others?: ReadonlySet<number>) => readonly number[];
  /** Functions whose value the function takes, and that have no more bytes than `longest`. */
  readonly handed: (start: number, longest: number) => readonly number[];
  /** In the order of the code. */
  readonly taken: (start: number) => readonly number[];
  readonly written: (start: number) => readonly number[];
  /** The numbers that the function writes to the stack. */
  readonly numbers: (start: number) => readonly number[];
  /** True if the function reads one of the places, or takes its address; perhaps also where it does neither. */
  readonly reads: (start: number, places: ReadonlySet<number>) => boolean;
  readonly walk: (asking: Asking) => Pick<Walk, "callees" | "machineFor">;
  readonly endOf: (start: number) => number | null;
  /** True for data that the program may write to. */
  readonly isWritable: (place: number) => boolean;
  /** True if code may write to one of the places, beside the instructions that are known to. */
  readonly areWritten: (kept: Kept) => boolean;
  readonly free: () => void;
}

/** No list of features is longer. */
const longestList = 256;

/** What stands in the data of the program at its start: the addresses, and the length of a list behind the address of its first row. */
function dataOf(source: ByteSource, elf: Elf, pointers: FixedPointers) {
  const sections = elf.sections.filter(({ flags, address }) => (flags & allocated) !== 0 && address > 0);
  const isIn = (place: number) =>
    sections.some(
      ({ type, address, size }) =>
        place >= address && place < address + (type === noBytes ? mostUnwritten : size),
    );
  const wordAt = (place: number) => {
    const offset = place % 8 === 0 ? offsetOfAddress(elf, place) : null;
    const bytes = offset === null ? null : source.read(offset, 8);
    return bytes === null || bytes.length < 8 ? 0 : u64(bytes, 0);
  };
  const at = (place: number) => {
    const word = wordAt(place);
    return pointers.at(place) ?? (isIn(word) ? word : null);
  };
  const lists: { readonly start: number; readonly end: number }[] = [];
  return {
    at,
    isWritable: (place: number) =>
      sections.some(
        ({ type, flags, address, size }) =>
          (flags & written) !== 0 &&
          place >= address &&
          place < address + (type === noBytes ? mostUnwritten : size),
      ),
    /** Also a number in a list whose length was asked for. */
    lengthAt(place: number): number | null {
      if (lists.some(({ start, end }) => place >= start && place < end)) return wordAt(place) || null;
      const start = at(place - 8);
      const length = start === null ? 0 : wordAt(place);
      if (start === null || length === 0 || length > longestList) return null;
      lists.push({ start, end: start + 8 * length });
      return length;
    },
  };
}
/** Of the flags of a section: may be written to, and in memory (System V ABI, SHF_WRITE and SHF_ALLOC). */
const [written, allocated] = [1, 2];
/** SHT_NOBITS: zeros, of which the section has no size here. */
const [noBytes, mostUnwritten] = [8, 2 ** 24];

export function x86GoCode(
  source: ByteSource,
  elf: Elf,
  functions: ReturnType<typeof readFunctionRanges>,
  pointers: FixedPointers,
): GoCode {
  const reader = functionReader(source, elf, functions, pointers);
  const data = dataOf(source, elf, pointers);
  const code = new Map<number, readonly X86Instruction[]>();
  const codeOf = (start: number) => remember(code, start, () => reader.instructions(start) ?? []);
  const glances = new Map<number, ReturnType<typeof glanceAt>>();
  // A program has a megabyte of code that runs before `main`, and hardly any of it asks.
  const glanceOf = (start: number) =>
    remember(glances, start, () => {
      const offset = offsetOfAddress(elf, start);
      const room = Math.min(reader.lengthFrom(start), longestFunction);
      return glanceAt(offset === null ? new Uint8Array(0) : source.read(offset, room), start);
    });
  return {
    called: (start, longest, others) =>
      glanceOf(start).called.filter(
        (each) => reader.isStart(each) && (others?.has(each) || reader.lengthFrom(each) <= longest),
      ),
    handed: (start, longest) => valuesIn(glanceOf(start).taken, data.at, reader, longest),
    taken: (start) => codeOf(start).flatMap(({ takes }) => takes ?? []),
    written: (start) => codeOf(start).flatMap(({ writes }) => writes ?? []),
    numbers: (start) => codeOf(start).flatMap(({ at }) => numberIn(reader.bytesFrom(at)) ?? []),
    reads: (start, places) => glanceOf(start).near(places),
    walk({ answers, anyBit, ...asking }) {
      const words = {
        ...asking,
        at(place: number) {
          const names = answers.get(place);
          return names === undefined ? null : { names, shift: 0 };
        },
        ...{ leaf: () => null, neverReturns: () => false, hasAnswer: () => false },
        ...{
          hasRust: false,
          isRustQuestion: () => false,
          isQuestion: () => false,
          asks: () => false,
          anyBit,
        },
        ...{ pointers: data, lengthAt: data.lengthAt },
      };
      return {
        callees: { ...reader, ...words, pointerAt: data.at },
        machineFor: (answer) => x86Machine(reader, words, answer, x86GoConvention),
      };
    },
    endOf: reader.endAround,
    isWritable: data.isWritable,
    areWritten: (kept) => areWritten(kept, source, elf),
    free: reader.free,
  };
}

/** The functions at some places, or whose address stands there. */
function valuesIn(
  taken: readonly number[],
  pointerAt: (place: number) => number | null,
  { isStart, lengthFrom }: Pick<Callees, "isStart" | "lengthFrom">,
  longest: number,
): readonly number[] {
  const all = taken.map((place) => (isStart(place) ? place : (pointerAt(place) ?? -1)));
  return [...new Set(all)].filter((each) => isStart(each) && lengthFrom(each) <= longest);
}

/**
 * Without decoding: each four bytes may be the distance of a call or of data. An instruction may have a number of one, two or four bytes behind the distance
 * (Intel SDM 2, "RIP-Relative Addressing").
 */
function glanceAt(code: Uint8Array, start: number) {
  const called: number[] = [];
  for (let at = code.indexOf(0xe8); at >= 0; at = code.indexOf(0xe8, at + 1))
    if (at + 5 <= code.length) called.push(start + at + 5 + (u32(code, at + 1) | 0));
  // LEA of a register, beside the next instruction.
  const taken: number[] = [];
  for (let at = code.indexOf(0x8d); at >= 0; at = code.indexOf(0x8d, at + 1))
    if (at + 6 <= code.length && ((code[at + 1] ?? 0) & 0xc7) === 5)
      taken.push(start + at + 6 + (u32(code, at + 2) | 0));
  return {
    called,
    taken,
    near(places: ReadonlySet<number>): boolean {
      const [first, last] = [Math.min(...places), Math.max(...places)];
      for (let at = 1; at + 4 <= code.length; at++) {
        const end = start + at + 4 + (u32(code, at) | 0);
        if (end < first - 4 || end > last) continue;
        if (places.has(end) || places.has(end + 1) || places.has(end + 2) || places.has(end + 4)) return true;
      }
      return false;
    },
  };
}

/** MOV of a number of four bytes to a place beside the stack's register (Intel SDM 2, "ModR/M and SIB bytes"). */
function numberIn(bytes: Uint8Array | null): number | null {
  if (bytes === null || bytes[0] !== 0x48 || bytes[1] !== 0xc7 || bytes[3] !== 0x24) return null;
  const at = bytes[2] === 0x04 ? 4 : bytes[2] === 0x44 ? 5 : bytes[2] === 0x84 ? 8 : null;
  return at === null || at + 4 > bytes.length ? null : u32(bytes, at);
}

const longestFunction = 2 ** 18;

export function arm64GoCode(
  source: ByteSource,
  elf: Elf,
  functions: ReturnType<typeof readFunctionRanges>,
  pointers: FixedPointers,
): GoCode {
  const arm = arm64Functions(source, elf, functions);
  const data = dataOf(source, elf, pointers);
  const code = new Map<number, ReturnType<typeof addressesIn>>();
  const codeOf = (start: number) =>
    remember(code, start, () => addressesIn(arm.codeOf(start, longestFunction)));
  return {
    called: (start, longest, others) =>
      codeOf(start).called.filter((each) => others?.has(each) || arm.lengthFrom(each) <= longest),
    handed: (start, longest) => valuesIn(codeOf(start).taken, data.at, arm, longest),
    taken: (start) => codeOf(start).taken,
    written: (start) => codeOf(start).written,
    // Nobody knows of which numbers a program for AArch64 asks.
    numbers: () => [],
    reads(start, places) {
      const { read, taken } = codeOf(start);
      return [...read, ...taken].some((place) => places.has(place));
    },
    walk({ answers, relies, ...asking }) {
      const memory: Memory = {
        constantAt: armConstants(source, elf),
        ...{ codeAt: arm.codeAt, pointerAt: data.at, lengthAt: data.lengthAt, ...(relies && { relies }) },
        answerAt(place) {
          const names = answers.get(place);
          return names === undefined ? null : [names];
        },
      };
      const others = { pointerAt: data.at, neverReturns: () => false, hasAnswer: () => false };
      return {
        callees: { ...arm, ...others, ...asking },
        machineFor: (answer) => arm64Machine(memory, answer, keptByGo),
      };
    },
    endOf: arm.endAround,
    isWritable: data.isWritable,
    areWritten: (kept) => areWrittenByArm(kept, source, elf),
    free: () => {},
  };
}

/** An address takes a page and a distance (DDI 0487, C6.2: ADRP, then ADD, a load or a store). */
function addressesIn(code: readonly ArmWord[]) {
  const [taken, read, written]: [number[], number[], number[]] = [[], [], []];
  const pages = new Map<number, number>();
  for (const each of code) {
    const { word } = each;
    const [to, base, number] = [field(word, 0, 5), field(word, 5, 5), field(word, 10, 12)];
    const page = pageIn(each);
    if (page !== null) pages.set(to, page * 4096);
    const start = page === null ? pages.get(base) : undefined;
    if (start === undefined) continue;
    if (has(word, 0xffc0_0000, 0x9100_0000)) taken.push(start + number);
    // A load or store of a register, which is no vector.
    if (has(word, 0x3f00_0000, 0x3900_0000))
      (field(word, 22, 2) === 0 ? written : read).push(start + number * 2 ** field(word, 30, 2));
  }
  return { called: calledIn(code), taken, read, written };
}
