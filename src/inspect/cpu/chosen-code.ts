/**
 * Finds the code of a static program that says nothing of what the program was compiled for: the C library, which asks the CPU for itself, and the
 * functions that the resolvers of IFUNC choose.
 */

import type { ByteSource } from "../byte-source.ts";
import { type Elf, elfMachine, elfType, offsetOfAddress, segmentType } from "../elf/elf.ts";
import { blocksOf, eachCall } from "./asking-links.ts";
import type { DispatchSigns } from "./dispatch.ts";
import type { FixedPointers } from "./fixed-pointers.ts";
import type { readFunctionRanges } from "./function-ranges.ts";
import { u32 } from "../little-endian.ts";
import { libraryQuestion } from "./own-questions.ts";
import { codeAreas } from "./regions.ts";
import { type FunctionReader, functionReader } from "./x86-functions.ts";

export interface ChosenCode {
  /** True for the place in the file of a function, or of a part of one. */
  readonly has: (offset: number) => boolean;
  /** The signs that the file asks, sorted: {@link isOwnQuestion} tells those that say nothing of other code. */
  readonly signs: readonly string[];
}

/** Names of glibc's own, which a program cannot use. */
const namesOfLibrary: ReadonlySet<string> = new Set([
  "_dl_x86_cpu_features",
  "_dl_x86_get_cpu_features",
  "getauxval",
]);

type Functions = ReturnType<typeof readFunctionRanges>;

interface Span {
  readonly from: number;
  readonly to: number;
}

/** glibc has some 40, its libm as many. */
const mostResolvers = 10_000;
const mostFollowed = 20_000;

export function chosenCode(
  source: ByteSource,
  elf: Elf,
  functions: Functions,
  pointers: FixedPointers,
  { signs, resolvers }: DispatchSigns,
): ChosenCode {
  if (resolvers.size === 0) return { has: () => false, signs };
  const asking = { has: () => false, signs: [...signs, "IFUNC"] };
  if (!isStatic(elf) || resolvers.size > mostResolvers) return asking;
  const others = signs.filter((sign) => !namesOfLibrary.has(sign));
  if (elf.machine === elfMachine.aarch64) {
    const targets = [...resolvers].map((address) => armTargetsOf(source, elf, functions, address));
    if (targets.some((each) => each.length === 0)) return asking;
    const chosen = targets.flat().map((from) => spanOf(functions, from));
    return { has: spanSearch(inFile(elf, chosen)), signs: [...others, libraryQuestion] };
  }
  const reader = functionReader(source, elf, functions, pointers);
  try {
    const library = libraryOf(elf, functions, reader);
    const targets = [...resolvers].map((address) => targetsOf(reader, address));
    // A resolver that nobody understands may choose any code.
    if (library === null || targets.some((each) => each.length === 0)) return asking;
    const chosen = calledOnlyBy(new Set(targets.flat()), source, elf, functions, pointers, reader);
    return { has: spanSearch(inFile(elf, [library, ...chosen])), signs: [...others, libraryQuestion] };
  } finally {
    reader.free();
  }
}

function inFile(elf: Elf, spans: readonly Span[]): readonly Span[] {
  return spans.flatMap(({ from, to }) => {
    const offset = offsetOfAddress(elf, from);
    return offset === null ? [] : [{ from: offset, to: offset + to - from }];
  });
}

/** ADRP and ADD of the same register, as compilers take an address (DDI 0487, C6.2). */
function armTargetsOf(
  source: ByteSource,
  elf: Elf,
  functions: Functions,
  resolver: number,
): readonly number[] {
  const { from, to } = spanOf(functions, resolver);
  const offset = offsetOfAddress(elf, from);
  const bytes = offset === null ? new Uint8Array(0) : source.read(offset, Math.min(to - from, 4096));
  const pages = new Map<number, number>();
  const found: number[] = [];
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const word = u32(bytes, at);
    const [register, second] = [word & 31, (word >>> 5) & 31];
    if ((word & 0x9f00_0000) >>> 0 === 0x9000_0000) {
      const distance = (((word >> 5) & 0x7_ffff) << 13) | (((word >>> 29) & 3) << 11);
      pages.set(register, Math.floor((from + at) / 4096) * 4096 + (distance >> 11) * 4096);
    } else if ((word & 0xffc0_0000) >>> 0 === 0x9100_0000) {
      const address = (pages.get(second) ?? Number.NaN) + ((word >>> 10) & 0xfff);
      if (functions.addressAt(functions.firstFrom(address)) === address) found.push(address);
    }
  }
  return found;
}

/** The functions whose addresses a resolver takes. */
function targetsOf(reader: FunctionReader, resolver: number): readonly number[] {
  const taken = (reader.instructions(resolver) ?? []).map(({ takes }) => takes);
  return taken.filter((address) => address !== null && reader.isStart(address)) as readonly number[];
}

/** Functions, and those that nothing else of the file calls. */
function calledOnlyBy(
  first: ReadonlySet<number>,
  source: ByteSource,
  elf: Elf,
  functions: Functions,
  pointers: FixedPointers,
  reader: FunctionReader,
): readonly Span[] {
  const blockAt = blocksOf(functions);
  const callees = followed([...first], reader, blockAt);
  const outside: number[] = [];
  const isBeside = (block: number) => callees.has(block) && !first.has(block);
  if ([...callees.keys()].some(isBeside))
    for (const segment of codeAreas(elf))
      eachCall(source, segment, pointers, (from, to) => {
        const block = blockAt(to);
        if (isBeside(block) && !callees.has(blockAt(from))) outside.push(block);
      });
  for (let block = outside.pop(); block !== undefined; block = outside.pop()) {
    outside.push(...(callees.get(block) ?? []).filter(isBeside));
    callees.delete(block);
  }
  return [...callees.keys()].map((from) => spanOf(functions, from));
}

/** The functions that are called or jumped to, each with the functions that it calls. */
function followed(
  queue: number[],
  reader: FunctionReader,
  blockAt: (address: number) => number,
): Map<number, readonly number[]> {
  const callees = new Map<number, readonly number[]>();
  for (let block = queue.pop(); block !== undefined && callees.size < mostFollowed; block = queue.pop()) {
    if (callees.has(block)) continue;
    const targets = (reader.instructions(block) ?? []).map(({ target }) =>
      target === null ? -1 : blockAt(target),
    );
    const called = [...new Set(targets)].filter((each) => each >= 0 && each !== block);
    callees.set(block, called);
    queue.push(...called);
  }
  return callees;
}

function spanOf(functions: Functions, from: number): Span {
  return { from, to: from + functions.sizeAt(functions.firstFrom(from)) };
}

function isStatic({ type, segments, entry }: Elf): boolean {
  return (
    entry > 0 &&
    (type === elfType.executable || type === elfType.shared) &&
    segments.every((each) => each.type !== segmentType.interpreter)
  );
}

/**
 * The C library of a static program. A linker puts the library behind the program, and the start of the program, which asks the CPU, first. null
 * where the start asks nothing, and where the library is mixed with the program.
 */
function libraryOf(elf: Elf, functions: Functions, reader: FunctionReader): Span | null {
  const start = reader.instructions(elf.entry) ?? [];
  const blockAt = blocksOf(functions);
  const called = start.flatMap(({ target }) => (target === null ? [] : [blockAt(target)]));
  const all = [
    ...followed(
      called.filter((each) => each >= 0),
      reader,
      blockAt,
    ).keys(),
  ];
  const asking = all.filter((address) => reader.instructions(address)?.some(({ asks }) => asks));
  if (asking.length === 0) return null;
  const span = {
    from: Math.min(...asking),
    to: Math.max(...all.map((address) => spanOf(functions, address).to)),
  };
  const isMixed = start.some(({ takes }) => takes !== null && takes >= span.from && takes < span.to);
  return isMixed ? null : span;
}

function spanSearch(spans: readonly Span[]): (at: number) => boolean {
  const sorted = [...spans].sort((a, b) => a.from - b.from);
  const ends: number[] = [];
  for (const { to } of sorted) ends.push(Math.max(to, ends.at(-1) ?? 0));
  return (at) => {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sorted[middle]?.from ?? 0) <= at) low = middle + 1;
      else high = middle;
    }
    return low > 0 && at < (ends[low - 1] ?? 0);
  };
}
