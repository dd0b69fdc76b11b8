/** Finds the functions by which a program for AArch64 begins. */

import { type ArmFunctions, type ArmWord, behindStub, callIn, calledIn, landing } from "./arm64-functions.ts";
import type { Memory } from "./arm64-memory.ts";
import { arm64Machine } from "./arm64-steps.ts";
import type { FixedPointers } from "./fixed-pointers.ts";
import { noBits } from "./known-bits.ts";
import type { Known } from "./way-states.ts";

/** The start passes `main` after no more instructions. */
const mostBeforeMain = 64;
export const longestMain = 2 ** 18;

/** A static program that may be anywhere begins as others: with zeros in X29 and X30. */
export function isStartCode(entry: number, { codeAt }: ArmFunctions): boolean {
  const first = codeAt(entry) === landing ? entry + 4 : entry;
  return entry !== 0 && codeAt(first) === 0xd280_001d && codeAt(first + 4) === 0xd280_001e;
}

/** What the C runtime's start passes as the first argument. */
export function mainOf(entry: number, memory: Memory, code: ArmFunctions): number | null {
  const machine = arm64Machine(memory, () => noBits);
  let [place, known] = [entry, { registers: new Map(), flags: null } as Parameters<typeof machine.step>[1]];
  for (let steps = 0; steps < mostBeforeMain; steps++) {
    const done = machine.step(place, known);
    if (done.kind === "next") [place, known] = [done.next, done.known];
    else if (done.kind !== "call" && done.kind !== "jump") return null;
    else {
      const first = known.registers.get(0);
      if (first !== undefined && "at" in first && memory.codeAt(first.at) !== null)
        return behindStub(first.at, code);
      // musl's start goes on in a function.
      if (done.kind === "call" || done.target < 0) return null;
      place = done.target;
    }
  }
  return null;
}

/** The C runtime's `main` of a program in Rust hands on the program's own, or a table of functions that have it inside. Without `pointers` no tables are looked at. */
export function rustMainsOf(
  main: number,
  code: ArmFunctions,
  memory: Memory,
  pointers: FixedPointers | null,
): readonly number[] {
  const handed = [...knownBehind(code.codeOf(main), memory).registers.values()].flatMap((value) =>
    "at" in value && value.at >= 0 ? value.at : [],
  );
  const own = handed.filter(code.isStart);
  if (own.length > 0 || pointers === null) return own.length === 1 ? own : [];
  const inTables = handed.flatMap((place) => pointers.run(place).slice(0, mostInTable)).filter(code.isStart);
  if (inTables.length === 0) return behindFrames(main, code, memory);
  return [
    ...new Set(inTables.flatMap((each) => [each, ...calledIn(code.codeOf(each)).slice(0, mostInTable)])),
  ];
}

/** A compiler that sees the whole program leaves the function that marks the end of a trace: it calls what X0 has, and does nothing more. */
function behindFrames(main: number, code: ArmFunctions, memory: Memory): readonly number[] {
  const words = code.codeOf(main, longestMain);
  const isFrame = (target: number) => {
    const all = code.codeOf(target, longestFrame + 4).map(({ word }) => word);
    return all.length * 4 <= longestFrame && all.includes(0xd63f_0000) && all.includes(0xd65f_03c0);
  };
  return words.flatMap((each, index) => {
    const target = callIn(each);
    if (target === null || !isFrame(target)) return [];
    const before = words.slice(Math.max(0, index - mostBefore), index);
    const known = knownBehind(
      before.slice(before.findLastIndex((word) => callIn(word) !== null) + 1),
      memory,
    );
    const first = known.registers.get(0);
    return first !== undefined && "at" in first && code.isStart(first.at) ? first.at : [];
  });
}

/** What a row of instructions leaves, up to the first that leads elsewhere. */
function knownBehind(words: readonly ArmWord[], memory: Memory): Known {
  const machine = arm64Machine(memory, () => noBits);
  let known: Known = { registers: new Map(), flags: null };
  for (const { at } of words) {
    const done = machine.step(at, known);
    if (done.kind !== "next") break;
    known = done.known;
  }
  return known;
}

const longestFrame = 32;
const mostBefore = 8;
/** Rust's table of a closure has so many functions. */
const mostInTable = 4;
