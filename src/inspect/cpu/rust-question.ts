/** Finds the question that Rust's standard library asks the CPU, and where its answer stands. */

import { Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, type Register, RegisterExt } from "iced-x86";
import type { ByteSource } from "../byte-source.ts";
import type { Elf } from "../elf/elf.ts";
import bits from "./asked-features.json" with { type: "json" };
import { rustcMinors } from "./rustc-versions.ts";
import type { FunctionReader, X86Instruction } from "./x86-functions.ts";

/** Of the bits of an answer, the lowest first: see `asked-features.json`. */
export type AnswerNames = readonly string[];

export interface RustQuestion {
  /** These give the answer back. Functions around them look first whether it is there. */
  readonly functions: ReadonlySet<number>;
  readonly hasAny: boolean;
  /** The place is in one of the functions, or in one around. */
  readonly isAround: (place: number) => boolean;
  /** The words of the answer, by their places. */
  readonly words: ReadonlyMap<number, AnswerNames>;
}

/** A word has 64 bits, of which the last tells that the answer is there (std_detect, detect/cache.rs). */
const wordBits = 63;
const mark = 1n << BigInt(wordBits);
const mostBits = 128;
const first = bits.rust.split(" ");
const laterOnes = Array<string>(mostBits - first.length).fill(bits.laterRust);
/** A word that may be any of the answer's words. */
const unknownWord = Array<string>(wordBits + 1).fill(
  [...first, bits.laterRust].filter((name) => name !== "-").join("|"),
);
const longestQuestion = 2 ** 13;
/** A program has some; a hostile one has thousands, each as long as the file. */
const mostQuestions = 64;

/** What the bits of Rust's answer stand for by the versions of rustc that the file names, if these agree. */
export function rustNames(source: ByteSource, elf: Elf): AnswerNames {
  const orderOf = (minor: number | null) =>
    bits.rustOrders.find(({ from, to }) => minor !== null && minor >= from && minor <= to)?.bits ?? null;
  const [order, another] = new Set([...rustcMinors(source, elf)].map(orderOf));
  if (order == null || another !== undefined) return [...first, ...laterOnes];
  const later = order.split(" ");
  return [...first, ...later, ...Array<string>(mostBits - first.length - later.length).fill("-")];
}

/** `asking` is of {@link askingFunctions}. */
export function rustQuestion(
  reader: FunctionReader,
  asking: ReadonlyMap<number, number>,
  names: AnswerNames,
): RustQuestion {
  const words = new Map<number, AnswerNames>();
  const wordOf = (index: number) => [...names.slice(wordBits * index, wordBits * (index + 1)), "-"];
  const functions = [...asking]
    .flatMap(([each, calls]) => (calls === 0 ? [each] : []))
    .slice(0, mostQuestions)
    .filter((each) => reader.lengthFrom(each) <= longestQuestion);
  const found = functions.filter((address) => {
    const code = reader.instructions(address) ?? [];
    if (!isQuestion(code, reader)) return false;
    const stored = storedWords(code, reader);
    for (const [place, index] of stored) words.set(place, index === null ? unknownWord : wordOf(index));
    if (stored.size > 0) return true;
    // Behind an address in a register the words stand one after the other. The third has no bits yet.
    const places = new Set(code.flatMap(({ takes }) => takes ?? []).filter(reader.isWritten));
    for (const place of places)
      for (const index of [0, 1])
        words.set(place + 8 * index, places.size === 1 ? wordOf(index) : unknownWord);
    return true;
  });
  const ends = found.map((start) => ({ start, end: reader.endAround(start) ?? 0 }));
  const isAround = (place: number) => ends.some(({ start, end }) => place >= start && place < end);
  const looksFirst = (address: number) => {
    const code = reader.instructions(address) ?? [];
    const question = code.findIndex(({ asks }) => asks);
    return code
      .slice(0, question)
      .some(({ reads, takes }) => words.has(reads ?? -1) || words.has(takes ?? -1));
  };
  return {
    functions: new Set(found.filter((each) => !looksFirst(each))),
    hasAny: found.length > 0,
    isAround,
    words,
  };
}

/** Whether the CPU is AMD's: "cAMD" is the last word of its name. And the bit that tells that the answer is there. */
function isQuestion(code: readonly X86Instruction[], reader: FunctionReader): boolean {
  const has = (isSo: (bytes: Buffer) => boolean) =>
    code.some(({ at, end }) => isSo(Buffer.from(reader.bytesFrom(at) ?? []).subarray(0, end - at)));
  // MOV of eight bytes, and BTS of the last bit (Intel SDM 2: B8, 0F BA /5).
  const isMark = (bytes: Buffer) =>
    bytes.length === 10
      ? bytes.readBigUInt64LE(2) === mark
      : bytes.length === 5 && bytes.readUInt16BE(1) === 0x0fba && bytes[4] === wordBits;
  return has((bytes) => bytes.includes("cAMD")) && has(isMark);
}

/** So many instructions make a word of the answer. */
const mostOfWord = 64;

/** The places that code writes eight bytes to, after an OR of the mark, with the index of the word; null for an unknown one. */
function storedWords(code: readonly X86Instruction[], reader: FunctionReader): Map<number, number | null> {
  const found = new Map<number, number | null>();
  const instruction = new Instruction();
  const decode = ({ at }: X86Instruction) => {
    const decoder = new Decoder(64, reader.bytesFrom(at) ?? new Uint8Array(), DecoderOptions.None);
    decoder.decodeOut(instruction);
    decoder.free();
  };
  for (const [index, each] of code.entries()) {
    if (each.writes === null) continue;
    decode(each);
    const isWord = instruction.mnemonic === Mnemonic.Mov && RegisterExt.size(instruction.op1Register) === 8;
    if (!isWord) continue;
    const word: Word = {
      registers: new Set([instruction.op1Register]),
      index: null,
      isMarked: false,
      isOr: null,
    };
    for (const before of code.slice(Math.max(0, index - mostOfWord), index).reverse()) {
      decode(before);
      look(instruction, word);
    }
    if (word.isOr) found.set(each.writes, word.isMarked ? word.index : null);
  }
  instruction.free();
  return found;
}

/** By how much the upper half of the 128 bits, or the whole of 64 as before Rust 1.82, is shifted for a word. */
const shifts = new Map([
  [2 * wordBits - 64, 2],
  [wordBits, 1],
]);

/** What is known of a word, read backwards from where it is stored. */
interface Word {
  /** Of which the word is made. */
  readonly registers: Set<Register>;
  index: number | null;
  /** One of the registers has the mark. */
  isMarked: boolean;
  /** The mark is what was added last. */
  isOr: boolean | null;
}

function look(instruction: Instruction, word: Word): void {
  const { mnemonic, op0Register, op1Register, op1Kind } = instruction;
  const own = RegisterExt.fullRegister(op0Register);
  if (!word.registers.has(own) || instruction.op0Kind !== OpKind.Register) return;
  const isNumber = op1Kind >= OpKind.Immediate8 && op1Kind <= OpKind.Immediate32to64;
  const number = isNumber ? instruction.immediate(1) : null;
  const isBit = mnemonic === Mnemonic.Bts && number === BigInt(wordBits);
  word.isMarked ||= isBit || (mnemonic === Mnemonic.Mov && number === mark);
  if (mnemonic !== Mnemonic.Mov) word.isOr ??= isBit || mnemonic === Mnemonic.Or;
  if (mnemonic === Mnemonic.Shld) word.index ??= 1;
  else if (mnemonic === Mnemonic.Shr) word.index ??= shifts.get(Number(number)) ?? 0;
  else if (!passes.has(mnemonic)) word.index ??= 0;
  else {
    if (mnemonic === Mnemonic.Mov) word.registers.delete(own);
    if (op1Kind === OpKind.Register) word.registers.add(RegisterExt.fullRegister(op1Register));
  }
}

const passes: ReadonlySet<Mnemonic> = new Set([Mnemonic.Mov, Mnemonic.Or, Mnemonic.And, Mnemonic.Bts]);
