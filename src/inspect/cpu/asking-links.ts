/** Follows the question for the CPU's features from file to file: exported functions that ask, and the functions that a file imports. */

import { type ByteSource, windowBytes, withWindow } from "../byte-source.ts";
import type { Elf } from "../elf/elf.ts";
import { readSymbols, symbolNames, symbolType } from "../elf/symbols.ts";
import { u32 } from "../little-endian.ts";
import type { FixedPointers } from "./fixed-pointers.ts";
import type { readFunctionRanges } from "./function-ranges.ts";
import { blockBytes, type CodeArea, codeAreas, type Place } from "./regions.ts";

/** `av_get_cpu_flags` of libavutil is two calls away from its `cpuid`. */
const mostCalls = 3;

/** Bytes of a function that only passes a call on, as Rust's without optimization do: the call counts once. */
const mostOfThin = 32;

/** A library exports at most some dozen functions that ask. */
const mostAnswers = 1000;
const mostImports = 20_000;

type Functions = ReturnType<typeof readFunctionRanges>;

/**
 * The start of each function that asks the CPU by at most three direct calls, with the number of calls. A question outside known functions,
 * as in hand-written assembly, stands for the whole block around the question. The block has a negative number.
 */
export function askingFunctions(
  source: ByteSource,
  elf: Elf,
  functions: Functions,
  pointers: FixedPointers,
  asksIn: readonly Place[],
): ReadonlyMap<number, number> {
  const code = codeAreas(elf);
  const blockAt = blocksOf(functions);
  const asking = new Map<number, number>();
  const isThin = (block: number) => block >= 0 && functions.sizeAt(functions.firstFrom(block)) <= mostOfThin;
  let reached = new Map(
    asksIn.flatMap(({ offset }) => addressesOf(code, offset).map((at) => [blockAt(at), 0])),
  );
  for (let turn = 0; turn <= mostCalls && reached.size > 0; turn++) {
    for (const [block, calls] of reached) asking.set(block, calls);
    if (turn === mostCalls) break;
    const next = new Map<number, number>();
    const mayBeReached = filterOf(reached.keys());
    for (const segment of code)
      eachCall(source, segment, pointers, (from, to) => {
        if (!mayBeReached(to) && !mayBeReached(gapBlock(to))) return;
        const calls = reached.get(blockAt(to));
        if (calls === undefined) return;
        const caller = blockAt(from);
        if (asking.has(caller)) return;
        const own = calls + (isThin(caller) ? 0 : 1);
        next.set(caller, Math.min(own, next.get(caller) ?? own));
      });
    reached = next;
  }
  return asking;
}

/** The names of exported functions among those that ask, sorted. */
export function answeringExports(
  source: ByteSource,
  elf: Elf,
  functions: Functions,
  asking: ReadonlyMap<number, number>,
): readonly string[] {
  if (asking.size === 0) return [];
  const blockAt = blocksOf(functions);
  const names = symbolNames(source, elf, "dynamicSymbols");
  const found = new Set<string>();
  for (const { type, address, nameAt, isImport } of readSymbols(source, elf, "dynamicSymbols"))
    if (!isImport && type === symbolType.function && asking.has(blockAt(address)))
      found.add(names.text(nameAt));
  return [...found].sort().slice(0, mostAnswers);
}

/** The functions that a file imports, sorted. */
export function importedFunctions(source: ByteSource, elf: Elf): readonly string[] {
  const names = symbolNames(source, elf, "dynamicSymbols");
  const found = new Set<string>();
  for (const { isImport, nameAt } of readSymbols(source, elf, "dynamicSymbols")) {
    const name = isImport ? names.text(nameAt) : "";
    if (name !== "") found.add(name);
    if (found.size === mostImports) break;
  }
  return [...found].sort();
}

function addressesOf(segments: readonly CodeArea[], offset: number): readonly number[] {
  return segments.flatMap((segment) =>
    offset >= segment.offset && offset < segment.offset + segment.size
      ? [segment.address + offset - segment.offset]
      : [],
  );
}

/** Names the function around an address by its start. Outside functions a block has a negative number. */
export function blocksOf(functions: Functions): (address: number) => number {
  return (address) => {
    const after = functions.firstFrom(address + 1);
    const start = functions.addressAt(after - 1);
    const isInside = after > 0 && address < start + functions.sizeAt(after - 1);
    return isInside ? start : gapBlock(address);
  };
}

const filterBits = 16;

/** True for the numbers of a set and for few others. A look into the set takes longer, and a library has millions of calls. */
function filterOf(numbers: Iterable<number>): (number: number) => boolean {
  const filter = new Uint8Array(2 ** filterBits);
  const slotOf = (number: number) => ((number | 0) ^ (number >> filterBits)) & (filter.length - 1);
  for (const number of numbers) filter[slotOf(number)] = 1;
  return (number) => filter[slotOf(number)] === 1;
}

function gapBlock(address: number): number {
  return -1 - Math.floor(address / blockBytes.gap);
}

/**
 * CALL and JMP with a distance of four bytes, or with the distance of a pointer (Intel SDM 2: E8, E9, FF /2, FF /4), and MOV of a pointer to
 * RAX, as Rust without optimization calls. Bytes that only look so seldom lead to a function that asks.
 */
const callCodes = [
  { code: Buffer.from([0xe8]), isPointer: false },
  { code: Buffer.from([0xe9]), isPointer: false },
  { code: Buffer.from([0xff, 0x15]), isPointer: true },
  { code: Buffer.from([0xff, 0x25]), isPointer: true },
  { code: Buffer.from([0x48, 0x8b, 0x05]), isPointer: true },
] as const;
const distanceBytes = 4;
const longestCall = 7;

/** Tells each direct call and jump of a segment, and each through a table of pointers. */
export function eachCall(
  source: ByteSource,
  segment: CodeArea,
  pointers: FixedPointers,
  tell: (from: number, to: number) => void,
): void {
  withWindow((window) => {
    const step = windowBytes - longestCall;
    for (let start = 0; start < segment.size; start += step) {
      const read = source.readOver(
        segment.offset + start,
        window.subarray(0, Math.min(windowBytes, segment.size - start)),
      );
      const bytes = Buffer.from(read.buffer, read.byteOffset, read.length);
      for (const { code, isPointer } of callCodes) {
        const length = code.length + distanceBytes;
        const end = Math.min(step, bytes.length - length + 1);
        for (let at = bytes.indexOf(code); at >= 0 && at < end; at = bytes.indexOf(code, at + 1)) {
          const from = segment.address + start + at;
          const place = from + length + (u32(bytes, at + code.length) | 0);
          const to = isPointer ? pointers.at(place) : place;
          if (to !== null) tell(from, to);
        }
      }
    }
  });
}
