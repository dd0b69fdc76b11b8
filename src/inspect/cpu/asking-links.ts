/** Follows the question for the CPU's features from file to file: exported functions that ask, and the functions that a file imports. */

import { sum } from "../../io/collections.ts";
import { type ByteSource, ownPages, windowBytes, withWindow } from "../byte-source.ts";
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
  const eachOfFile = callsOf(source, code, functions, pointers);
  for (let turn = 0; turn <= mostCalls && reached.size > 0; turn++) {
    for (const [block, calls] of reached) asking.set(block, calls);
    if (turn === mostCalls) break;
    const next = new Map<number, number>();
    const mayBeReached = filterOf(reached.keys());
    eachOfFile((from, to) => {
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
 * The last byte in front of the distance: CALL and JMP with a distance of four bytes, or with the distance of a pointer (Intel SDM 2: E8, E9, FF /2,
 * FF /4), and MOV of a pointer to RAX, as Rust without optimization calls. The first bytes of the latter are in all code. Bytes that only look so
 * seldom lead to a function that asks.
 */
const beforeDistance = {
  call: 0xe8,
  jump: 0xe9,
  callPointer: 0x15,
  jumpPointer: 0x25,
  movePointer: 0x05,
} as const;
const mayEndCall = new Uint8Array(256);
for (const byte of Object.values(beforeDistance)) mayEndCall[byte] = 1;

/** The length of a call or jump up to its last byte in front of the distance, which stands at a place; 0 where none ends there. */
function opcodeLength(bytes: Uint8Array, at: number): number {
  const last = bytes[at];
  if (last === beforeDistance.call || last === beforeDistance.jump) return 1;
  const before = bytes[at - 1];
  if (last === beforeDistance.movePointer) return before === 0x8b && bytes[at - 2] === 0x48 ? 3 : 0;
  return before === 0xff ? 2 : 0;
}

const distanceBytes = 4;
const longestCall = 7;

/** So many calls are kept, of 8 bytes each. */
const mostKept = 2 ** 23;
/** Code has fewer calls than one in so many bytes. */
const bytesPerCall = 16;

/** Tells each call that leads out of its function, any number of times. Code is read once, but for what comes behind the calls that are kept. */
function callsOf(
  source: ByteSource,
  code: readonly CodeArea[],
  functions: Functions,
  pointers: FixedPointers,
): (tell: (from: number, to: number) => void) => void {
  const first = Math.min(...code.map(({ address }) => address));
  const most = Math.min(mostKept, Math.ceil(sum(code.map(({ size }) => size)) / bytesPerCall));
  let kept: Uint32Array | null = null;
  let count = 0;
  let unkept = code;
  return (tell) => {
    kept ??= new Uint32Array(ownPages(8 * most), 0, 2 * most);
    for (let at = 0; at < count; at += 2) tell(first + (kept[at] ?? 0), first + (kept[at + 1] ?? 0));
    const areas = unkept;
    const left: CodeArea[] = [];
    for (const area of areas) {
      if (left.length > 0) left.push(area);
      const isWithin = withinFunctions(functions);
      eachCall(source, area, pointers, (from, to) => {
        if (isWithin(from, to)) return;
        if (left.length === 0) {
          if (count === kept?.length || from - first > 0xffff_ffff) left.push(behind(area, from));
          else if (kept !== null && to >= first && to - first <= 0xffff_ffff) {
            kept[count++] = from - first;
            kept[count++] = to - first;
          }
        }
        tell(from, to);
      });
    }
    unkept = left;
  };
}

function behind(area: CodeArea, address: number): CodeArea {
  const passed = address - area.address;
  return { address, offset: area.offset + passed, size: area.size - passed };
}

/** True for a jump within one function. The jumps of an area come in order: the function is looked for once. */
function withinFunctions(functions: Functions): (from: number, to: number) => boolean {
  let [start, end, next] = [0, 0, 0];
  return (from, to) => {
    if (from >= next) {
      const index = functions.firstFrom(from + 1) - 1;
      next = functions.addressAt(index + 1);
      start = index < 0 ? 0 : functions.addressAt(index);
      end = index < 0 ? 0 : Math.min(next, start + functions.sizeAt(index));
    }
    return from < end && to >= start && to < end;
  };
}

/** Tells each direct call and jump of a segment, and each through a table of pointers; `isCall` is true for the direct calls. */
export function eachCall(
  source: ByteSource,
  segment: CodeArea,
  pointers: FixedPointers,
  tell: (from: number, to: number, isCall: boolean) => void,
): void {
  withWindow((window) => {
    const step = windowBytes - longestCall;
    for (let start = 0; start < segment.size; start += step) {
      const size = Math.min(windowBytes, segment.size - start);
      const bytes = source.readOver(segment.offset + start, window.subarray(0, size));
      const end = bytes.length - distanceBytes;
      for (let at = 0; at < end; at++) {
        if (mayEndCall[bytes[at] ?? 0] === 0) continue;
        const length = opcodeLength(bytes, at);
        const begin = at + 1 - length;
        // The next window has it too.
        if (length === 0 || begin < 0 || begin >= step) continue;
        const from = segment.address + start + begin;
        const place = segment.address + start + at + 1 + distanceBytes + (u32(bytes, at + 1) | 0);
        const to = length === 1 ? place : pointers.at(place);
        if (to !== null) tell(from, to, bytes[at] === beforeDistance.call);
      }
    }
  });
}
