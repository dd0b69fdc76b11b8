/** Finds the code that runs whenever a file is loaded or started, and the features needed on every path through the code. */

import type { ByteSource } from "../byte-source.ts";
import type { Elf } from "../elf/elf.ts";
import { readSymbols, symbolNames } from "../elf/symbols.ts";
import { u32, u64 } from "../little-endian.ts";
import { eachRelocation, type FixedPointers, isOfOwn, isOfSymbol } from "./fixed-pointers.ts";
import type { readFunctionRanges } from "./function-ranges.ts";
import { askedWords } from "./asked-words.ts";
import { type NamedCalls, namedCalls, x86StubOf } from "./named-calls.ts";
import { answersOf, type Handing, type Reached, reachedFrom } from "./reached-code.ts";
import { allRefusals, noRefusals, refusedBy, type Refusals, rustMain } from "./refusals.ts";
import { rustNames } from "./rust-question.ts";
import { type FunctionReader, functionReader, type X86Instruction } from "./x86-functions.ts";
import { areWritten } from "./x86-writers.ts";

export interface StartCode {
  /** Feature → what demands it: the start from which no path avoids it (`a constructor`, `main`, `PyInit_polars`), or a runtime. */
  readonly needed: Readonly<Record<string, string>>;
  /** Features without which a branch of a start ends in an error. */
  readonly mayRefuse: readonly string[];
  /** Features of code that the starts call, or hand on the address of, without a question to the CPU on the way. Sorted. */
  readonly reached: readonly string[];
  /** Those of `reached` to which a way leads through no function in SSE's old encoding. Sorted. */
  readonly unchosen: readonly string[];
  /** Features from SSSE3 to SSE4.2 of code behind older functions that `main` hands on. Sorted. */
  readonly behindHanded: readonly string[];
  /** False where a bound ended the search: the starts may reach any feature of the file. */
  readonly isWhole: boolean;
}

interface Start {
  readonly name: string;
  readonly address: number;
}

/** Python, Node and Java call these when they load a module. */
const loadCalls = /^(PyInit_\w+|napi_register_module_v\d+|JNI_OnLoad)$/;
/** A glance at the first four letters passes over most names. */
const loadHeads = new Set(["PyIn", "napi", "JNI_"].map((head) => u32(Buffer.from(head, "latin1"), 0)));
const maxStarts = 20_000;

/** Constructors, functions that a host language calls, and `main`. */
export function startsOf(source: ByteSource, elf: Elf, main: number | null): readonly Start[] {
  const constructors = constructorsOf(source, elf).map((address) => ({ name: "a constructor", address }));
  const names = symbolNames(source, elf, "dynamicSymbols");
  const modules: Start[] = [];
  for (const { address, nameAt, isImport } of readSymbols(source, elf, "dynamicSymbols")) {
    if (isImport || address === 0 || !loadHeads.has(names.head(nameAt))) continue;
    const name = names.text(nameAt);
    if (loadCalls.test(name)) modules.push({ name, address });
  }
  return [...constructors, ...(main === null ? [] : [{ name: "main", address: main }]), ...modules].slice(
    0,
    maxStarts,
  );
}

function constructorsOf(source: ByteSource, elf: Elf): readonly number[] {
  const array = elf.sections.find(({ name }) => name === ".init_array");
  if (array === undefined) return [];
  const bytes = source.read(array.offset, Math.min(array.size, 8 * maxStarts));
  const found = new Map<number, number>();
  for (let at = 0; at + 8 <= bytes.length; at += 8) found.set(array.address + at, u64(bytes, at));
  const symbols = new Set<number>();
  // Linkers write one of each; a hostile file has thousands that are the whole file.
  for (const wanted of [".rela.dyn", ".rela.init_array"]) {
    const section = elf.sections.find(({ name }) => name === wanted);
    if (section !== undefined)
      // The loader writes addresses into a table of constructors, or the symbols whose addresses these are.
      eachRelocation(
        source,
        section,
        ({ place, type, symbol, addend }) => {
          if (!found.has(place)) return;
          if (isOfOwn(type)) found.set(place, addend);
          else if (isOfSymbol(type)) symbols.add(symbol);
        },
        [array.address, array.address + array.size],
      );
  }
  let index = 0;
  if (symbols.size > 0)
    for (const { address } of readSymbols(source, elf, "dynamicSymbols"))
      if (symbols.has(index++)) found.set(-index, address);
  return [...new Set(found.values())].filter((address) => address > 0);
}

/** musl's start passes `main` two functions later, of which it takes the second one's address. */
const mostBeforeMain = 3;

/** The C runtime's start passes `main` as the first argument. */
function mainOf(entry: number, reader: FunctionReader): number | null {
  const isCode = (address: number) => reader.isStart(address) || reader.isUnnamed(address);
  let next = [entry];
  for (let turn = 0; turn < mostBeforeMain && next.length > 0; turn++) {
    const instructions = next.flatMap((address) => reader.instructions(address) ?? []);
    for (const { isFirstArgument, takes } of instructions)
      if (isFirstArgument && takes !== null && isCode(takes)) return takes;
    const led = instructions.flatMap(({ flow, target, takes }) => (flow === "next" ? takes : target) ?? []);
    next = led.filter(isCode).slice(0, 2);
  }
  return null;
}

/** The C runtime's `main` of a program in Rust hands on the program's own; with the runtime's code inside, among others, as a first argument. */
function rustMainsOf(mains: readonly number[], reader: FunctionReader): readonly Start[] {
  const handed = mains.flatMap((main) => reader.instructions(main) ?? []);
  const functionsOf = (some: readonly X86Instruction[]) =>
    new Set(some.flatMap(({ takes }) => (takes !== null && reader.isStart(takes) ? [takes] : [])));
  const all = functionsOf(handed);
  const code = all.size === 1 ? all : functionsOf(handed.filter(({ isFirstArgument }) => isFirstArgument));
  return code.size === 1 ? [...code].map((address) => ({ name: rustMain, address })) : [];
}

function addressesOf(starts: readonly Start[], wanted: string): readonly number[] {
  return starts.flatMap(({ name, address }) => (name === wanted ? [address] : []));
}

export const noStart: StartCode = {
  needed: {},
  mayRefuse: [],
  reached: [],
  unchosen: [],
  behindHanded: [],
  isWhole: true,
};

/** `asking` is of {@link askingFunctions}. */
export function startCodeOf(
  source: ByteSource,
  elf: Elf,
  functions: ReturnType<typeof readFunctionRanges>,
  pointers: FixedPointers,
  asking: ReadonlyMap<number, number>,
): StartCode {
  const reader = functionReader(source, elf, functions, pointers);
  try {
    const starts = startsOf(source, elf, mainOf(elf.entry, reader));
    if (starts.length === 0) return noStart;
    const mains = addressesOf(starts, "main");
    const named =
      mains.length + asking.size > 0 ? namedCalls(source, elf, (target) => x86StubOf(reader, target)) : null;
    const words =
      named === null || asking.size === 0
        ? null
        : askedWords(
            ...([reader, pointers, named, asking, addressesOf(starts, "a constructor")] as const),
            rustNames(source, elf),
          );
    const withRust = words?.hasRust ? [...starts, ...rustMainsOf(mains, reader)] : starts;
    const refusals =
      words === null
        ? noRefusals
        : allRefusals(withRust, reader, words, (kept) => areWritten(kept, source, elf));
    const handing = handingOf(mains, named);
    return readStartCode(elf, starts, reader, refusals, { handing, pointers, asking });
  } finally {
    reader.free();
  }
}

/** `asking` holds the starts of functions that lead to a question to the CPU, with the number of calls on the way. */
function readStartCode(
  elf: Elf,
  starts: readonly Start[],
  reader: FunctionReader,
  { refuses, mayRefuse, isWhole }: Refusals,
  { asking, ...ways }: Pick<Reached, "handing" | "pointers" | "asking">,
): StartCode {
  const needed = new Map(Object.entries(refusedBy(refuses)));
  const blocksLeft = Math.min(mostBlocks, reader.budget);
  const search: Search = { reader, known: new Map(), blocksLeft, isTrapEnd: true };
  for (const { name, address } of starts)
    for (const feature of neededBy(address, search, mostCalls))
      if (!needed.has(feature)) needed.set(feature, name);
  const untrapped: Search = { ...search, known: new Map(), isTrapEnd: false };
  const code = reachedFrom({
    ...{ starts: starts.map(({ address }) => address), reader, asking },
    ...ways,
    tables: !addressesOf(starts, "main").length ? "none" : needed.has("avx") ? "followed" : "may be chosen",
    answers: answersOf(elf, asking, reader),
    neededBy: (address) => neededBy(address, untrapped, 1),
  });
  return {
    needed: Object.fromEntries([...needed].sort(([a], [b]) => (a < b ? -1 : 1))),
    mayRefuse,
    ...code,
    isWhole: isWhole && starts.length < maxStarts && code.isWhole,
  };
}

/** `main`, and in a program the functions with a call that starts what it is given: a thread, a comparison. */
function handingOf(mains: readonly number[], named: NamedCalls | null): Handing {
  if (named === null || mains.length === 0) return () => false;
  const starts = (target: number | null, isPointer: boolean) =>
    target !== null && named.kindAt(target, isPointer) === "starts";
  return (address, code) =>
    mains.includes(address) ||
    code.some(({ flow, target, reads }) => (flow === "call" && starts(target, false)) || starts(reads, true));
}

const mostCalls = 8;
const mostTurns = 100;
/** A hostile function can take long to come to rest: so many blocks are looked at in a large file, and one for each byte that may be decoded. */
const mostBlocks = 2_000_000;

interface Search {
  readonly reader: FunctionReader;
  /** The features that a function needs, by the function's start. */
  readonly known: Map<number, ReadonlySet<string>>;
  blocksLeft: number;
  /** A path to a trap is a path. Rust's panics end in a trap, and no compiler was told to avoid a feature there. */
  readonly isTrapEnd: boolean;
}
/** The rest of what may be decoded is for the code that the starts reach. */
const shareOfNeeded = 0.5;

const nothing: ReadonlySet<string> = new Set();

interface Block {
  readonly features: Set<string>;
  readonly next: readonly number[];
  /** Some path leaves the function behind this block. */
  readonly leaves: boolean;
}

/** The features that all paths through a function need. Calls return: a callee that ends the program is no use of it. */
function neededBy(address: number, search: Search, calls: number): ReadonlySet<string> {
  const { reader, known } = search;
  const found = known.get(address);
  if (found !== undefined) return found;
  if (calls === 0 || reader.spent() > shareOfNeeded) return nothing;
  // A function that calls itself does so behind what it needs at first.
  known.set(address, nothing);
  const instructions = reader.instructions(address);
  if (instructions === null || instructions.length === 0) return nothing;
  const called = (target: number | null) =>
    target !== null && (reader.isStart(target) || reader.isUnnamed(target))
      ? neededBy(target, search, calls - 1)
      : nothing;
  const needed = onAllPaths(address, blocksOf(instructions, called, search.isTrapEnd), search);
  known.set(address, needed);
  return needed;
}

function blocksOf(
  instructions: readonly X86Instruction[],
  called: (target: number | null) => ReadonlySet<string>,
  isTrapEnd: boolean,
): ReadonlyMap<number, Block> {
  const places = new Set(instructions.map(({ at }) => at));
  const leaders = new Set<number>();
  for (const { flow, target, end } of instructions) {
    if (flow !== "branch" && flow !== "jump") continue;
    leaders.add(end);
    if (target !== null) leaders.add(target);
  }
  const blocks = new Map<number, Block>();
  let block: { readonly start: number; readonly features: Set<string> } | null = null;
  const close = (next: readonly number[], leaves: boolean) => {
    if (block !== null) blocks.set(block.start, { features: block.features, next, leaves });
    block = null;
  };
  for (const { at, end, flow, target, features } of instructions) {
    if (leaders.has(at)) close([at], false);
    block ??= { start: at, features: new Set() };
    for (const feature of features) block.features.add(feature);
    const inside = target !== null && places.has(target) ? [target] : [];
    // A jump out of the function is a call whose callee returns for this function.
    if (flow === "call" || (flow === "jump" && inside.length === 0))
      for (const feature of called(target)) block.features.add(feature);
    if (flow === "branch") close([end, ...inside], inside.length === 0);
    else if (flow === "jump") close(inside, inside.length === 0);
    else if (flow === "end" || flow === "trap") close([], flow === "end" || isTrapEnd);
  }
  close([], true);
  return blocks;
}

/** Meets over all paths, from the ends backwards, until nothing changes. null stands for a path without an end. */
function onAllPaths(entry: number, blocks: ReadonlyMap<number, Block>, search: Search): ReadonlySet<string> {
  const values = new Map<number, ReadonlySet<string> | null>();
  const order = [...blocks].reverse();
  let isChanged = true;
  for (let turns = 0; isChanged && turns < mostTurns && search.blocksLeft > 0; turns++) {
    search.blocksLeft -= blocks.size;
    isChanged = false;
    for (const [start, { features, next, leaves }] of order) {
      let met: ReadonlySet<string> | null = leaves ? nothing : null;
      for (const each of next) {
        const value = blocks.has(each) ? (values.get(each) ?? null) : nothing;
        met =
          met === null ? value : value === null ? met : new Set([...met].filter((name) => value.has(name)));
      }
      const result = met === null ? null : new Set([...features, ...met]);
      const before = values.get(start) ?? null;
      if (result === null ? before !== null : before === null || before.size !== result.size) {
        values.set(start, result);
        isChanged = true;
      }
    }
  }
  return isChanged ? nothing : (values.get(entry) ?? nothing);
}
