/** Finds programs for AArch64 that ask the kernel for the CPU's features, or libgcc's answer, and then refuse by themselves. */

import { remember } from "../../io/collections.ts";
import type { ByteSource } from "../byte-source.ts";
import { type Elf, offsetOfAddress } from "../elf/elf.ts";
import { u32 } from "../little-endian.ts";
import type { Memory } from "./arm64-memory.ts";
import { arm64Machine } from "./arm64-steps.ts";
import bits from "./asked-features.json" with { type: "json" };
import type { FixedPointers } from "./fixed-pointers.ts";
import type { readFunctionRanges } from "./function-ranges.ts";
import { roomsOf } from "./function-rooms.ts";
import { isEnding, namedCalls } from "./named-calls.ts";
import type { Callees } from "./refusal-ways.ts";
import { mostCallees, mostStepsOfFile, noRefusals, type Refusals, refusalsOf } from "./refusals.ts";

/** The kernel's auxiliary vector: AT_HWCAP and AT_HWCAP2 (Linux, include/uapi/linux/auxvec.h). */
const vectors = new Map([
  [16, bits.hwcap.split(" ")],
  [26, bits.hwcap2.split(" ")],
]);
/** The start passes `main` after no more instructions. */
const mostBeforeMain = 64;
const longestFunction = 512;
const longestMain = 2 ** 18;

export function arm64Refusals(
  source: ByteSource,
  elf: Elf,
  functions: ReturnType<typeof readFunctionRanges>,
  pointers: FixedPointers,
): Refusals {
  const rooms = roomsOf(elf, functions);
  const words = new Map<number, number | null>();
  const codeAt = (place: number) =>
    remember(words, place, () => {
      const offset = rooms.endAround(place) === null ? null : offsetOfAddress(elf, place);
      const bytes = offset === null || place % 4 !== 0 ? null : source.read(offset, 4);
      return bytes === null || bytes.length < 4 ? null : u32(bytes, 0);
    });
  const named = namedCalls(source, elf, (target) => stubOf(codeAt, target));
  const answers = new Map<number, readonly string[]>();
  for (const [address, kind] of named.own) {
    // The byte is 0 or 1.
    if (kind === "atomics") answers.set(address, ["atomics", ..."0000000"]);
    if (kind === "features") answers.set(address, bits.aarch64.split(" "));
  }
  const memory: Memory = {
    codeAt,
    pointerAt: pointers.at,
    answerAt: (place) => answers.get(place) ?? null,
  };
  const main = mainOf(elf.entry, memory);
  if (main === null) return noRefusals;
  const lengthFrom = (address: number) => (rooms.endAround(address) ?? Number.POSITIVE_INFINITY) - address;
  const questions = new Map<number, boolean>();
  const isQuestion = (target: number) =>
    remember(questions, target, () => named.kindAt(target, false) === "auxiliary" || isGetauxval(target));
  const codeOf = (address: number, longest = longestFunction) =>
    Array.from({ length: Math.ceil(Math.min(lengthFrom(address), longest) / 4) }, (_, each) => ({
      at: address + 4 * each,
      word: codeAt(address + 4 * each) ?? 0,
    }));
  const pages = new Set([...answers.keys()].map((place) => Math.floor(place / 4096)));
  const known = new Map<number, boolean>();
  const callees: Callees = {
    ...{ isStart: rooms.isStart, endAround: rooms.endAround, lengthFrom, pointerAt: pointers.at },
    givenBack: (target, argument) => (isQuestion(target) ? (vectors.get(argument ?? -1) ?? null) : null),
    endOf(target, isPointer) {
      const kind = named.kindAt(target, isPointer);
      return kind !== null && isEnding(kind) ? kind : null;
    },
    neverReturns: () => false,
    hasAnswer: () => false,
    mayAnswer: (target) =>
      remember(
        known,
        target,
        () =>
          stubOf(codeAt, target) === null &&
          codeOf(target).some(({ at, word }) => {
            const called = callIn(word, at);
            return (called !== null && isQuestion(called)) || pages.has(pageIn(word, at) ?? -1);
          }),
      ),
  };
  const machineFor = (answer: Parameters<typeof arm64Machine>[1]) => arm64Machine(memory, answer);
  const isError = ({ ones }: { readonly ones: bigint }) => (ones & 0xffff_ffffn) !== 0n;
  const found = refusalsOf(main, { callees, machineFor, isError, budget: { left: mostStepsOfFile } });
  if (found.isWhole) return found;
  // A long way without any question is no sign of a refusal.
  const called = codeOf(main, longestMain).flatMap(({ at, word }) => callIn(word, at) ?? []);
  const asks = called.slice(0, mostCallees).some((target) => isQuestion(target) || callees.mayAnswer(target));
  return { ...found, isWhole: !asks };

  /**
   * The C library's own in a static program without names. glibc's compares its argument with AT_HWCAP and AT_HWCAP2 before all others; musl's
   * with AT_SECURE, and then goes through the kernel's pairs of numbers by LDR with a step of 16 (glibc and musl, getauxval.c).
   */
  function isGetauxval(target: number): boolean {
    const code = codeOf(target).map(({ word }) => word);
    const [first, second] = code
      .slice(0, 12)
      .flatMap((word) => ((word & 0xffc0_03ff) >>> 0 === 0xf100_001f ? [(word >>> 10) & 0xfff] : []));
    const isStep = (word: number) => (word & 0xffff_fc00) >>> 0 === 0xf841_0400;
    return (first === 16 && second === 26) || (first === 23 && code.some(isStep));
  }
}

/** The target of BL. */
function callIn(word: number, at: number): number | null {
  return word >>> 26 === 0x25 ? at + 4 * ((word << 6) >> 6) : null;
}

/** The page of ADRP. */
function pageIn(word: number, at: number): number | null {
  if ((word & 0x9f00_0000) >>> 0 !== 0x9000_0000) return null;
  return Math.floor(at / 4096) + (((word << 8) >> 13) * 4 + ((word >>> 29) & 3));
}

/** The place in a table of pointers to which a stub jumps: ADRP and LDR of X17 by X16 (AAELF64, "Procedure Linkage Table"). */
function stubOf(codeAt: Memory["codeAt"], target: number): number | null {
  const first = codeAt(target) === 0xd503_245f ? target + 4 : target;
  const page = pageIn(codeAt(first) ?? 0, first);
  const load = codeAt(first + 4) ?? 0;
  const isLoad = page !== null && (load & 0xffc0_03ff) >>> 0 === 0xf940_0211;
  return isLoad ? page * 4096 + ((load >>> 10) & 0xfff) * 8 : null;
}

/** What the C runtime's start passes as the first argument. */
function mainOf(entry: number, memory: Memory): number | null {
  const machine = arm64Machine(memory, () => ({ zeros: 0n, ones: 0n, asked: false }));
  let [place, known] = [entry, { registers: new Map(), flags: null } as Parameters<typeof machine.step>[1]];
  for (let steps = 0; steps < mostBeforeMain; steps++) {
    const done = machine.step(place, known);
    if (done.kind === "next") [place, known] = [done.next, done.known];
    else if (done.kind !== "call" && done.kind !== "jump") return null;
    else {
      const first = known.registers.get(0);
      if (first !== undefined && "at" in first && memory.codeAt(first.at) !== null)
        return behindStub(first.at, memory);
      // musl's start goes on in a function.
      if (done.kind === "call" || done.target < 0) return null;
      place = done.target;
    }
  }
  return null;
}

/** A program that may be anywhere has a stub that jumps to `main`. */
function behindStub(main: number, { codeAt }: Memory): number {
  const first = codeAt(main);
  const at = first === nop || first === landing ? main + 4 : main;
  const word = codeAt(at);
  return word !== null && word >>> 26 === 5 ? at + 4 * ((word << 6) >> 6) : main;
}

/** NOP, and BTI C. */
const [nop, landing] = [0xd503_201f, 0xd503_245f];
