/** Knows where a program finds the CPU's answer: libgcc's `__cpu_model`, and CPUID's registers; and the functions that end a program. */

import type { ByteSource } from "../byte-source.ts";
import type { Elf } from "../elf/elf.ts";
import { readSymbols, symbolNames } from "../elf/symbols.ts";
import { u32 } from "../little-endian.ts";
import bits from "./asked-features.json" with { type: "json" };
import { eachRelocation, type FixedPointers, relocation } from "./fixed-pointers.ts";
import type { FunctionReader } from "./x86-functions.ts";

export interface AskedWords {
  /** The names of the bits of the word in a place, from the bit `shift` on. */
  readonly at: (place: number) => { readonly names: readonly string[]; readonly shift: number } | null;
  /** The names of the bits of CPUID's registers; null where no need is told. */
  readonly leaf: (leaf: number | null, part: number | null, register: string) => readonly string[] | null;
  /** How a called function ends the program; null if the function returns. */
  readonly endOf: (target: number, isPointer: boolean) => Ending | null;
  /** A function that hands on the answer. */
  readonly mayAnswer: (target: number) => boolean;
  readonly pointers: FixedPointers;
}

/** `status`: with the first argument as its status. */
type Ending = "status" | "aborts" | "throws" | "never";

const endings: ReadonlyMap<string, Ending> = new Map([
  ...["exit", "_exit", "_Exit", "quick_exit", "err", "errx"].map((name) => [name, "status"] as const),
  ...["abort", "__assert_fail", "_ZSt9terminatev"].map((name) => [name, "aborts"] as const),
  ...["__cxa_throw", "_Unwind_Resume"].map((name) => [name, "throws"] as const),
  ["__stack_chk_fail", "never"],
]);

/** Vendor, type and subtype of the CPU stand before the bits (libgcc, struct __processor_model). */
const bitsInModel = 12;
const wordBytes = 4;

/** null for a file that never asks. `constructors` has the starts of functions that run first; `asking` is of {@link askingFunctions}. */
export function askedWords(
  source: ByteSource,
  elf: Elf,
  reader: FunctionReader,
  pointers: FixedPointers,
  asking: ReadonlyMap<number, number>,
  constructors: readonly number[],
): AskedWords | null {
  // Who never asks the CPU has no answer to refuse by.
  if (asking.size === 0) return null;
  const words = new Map<number, readonly string[]>();
  const ends = new Map<number, Ending>();
  const addModel = (address: number) => words.set(address + bitsInModel, bits.model.split(" "));
  for (const table of ["symbols", "dynamicSymbols"] as const) {
    const names = symbolNames(source, elf, table);
    for (const { nameAt, address, isImport } of readSymbols(source, elf, table)) {
      if (isImport || address === 0) continue;
      const name = names.text(nameAt);
      const end = endings.get(name);
      if (end !== undefined) ends.set(address, end);
      if (name === "__cpu_model") addModel(address);
      if (name === "__cpu_features2")
        for (const [index, text] of bits.features2.entries())
          words.set(address + wordBytes * index, text.split(" "));
    }
  }
  // Stripped: libgcc's question looks first whether the answer is there.
  if (words.size === 0)
    for (const address of constructors.filter((each) => asking.get(each) === 0)) {
      const model = reader.instructions(address)?.find(({ reads }) => reads !== null)?.reads ?? null;
      if (model !== null) addModel(model);
    }
  const imports = importsOf(source, elf);
  const wordAt = (place: number) => {
    const start = [0, 1, 2, 3].map((shift) => place - shift).find((each) => words.has(each));
    const names = start === undefined ? undefined : words.get(start);
    return start === undefined || names === undefined ? null : { names, shift: 8 * (place - start) };
  };
  return {
    at: wordAt,
    pointers,
    leaf(leaf, part, register) {
      const name = `${leaf === null ? "" : (leaf >>> 0).toString(16)} ${register}`;
      const text = leaf === 7 && part !== 0 ? undefined : (bits.leaves as Record<string, string>)[name];
      return text?.split(" ") ?? null;
    },
    endOf: (target, isPointer) =>
      ends.get(target) ?? imports.get(isPointer ? target : (stubOf(reader, target) ?? -1)) ?? null,
    mayAnswer: (target) =>
      asking.has(target) ||
      (reader.instructions(target) ?? []).some(
        ({ asks, reads, takes }) => asks || [reads, takes].some((each) => each !== null && isNear(each)),
      ),
  };

  function isNear(place: number): boolean {
    return (
      wordAt(place) !== null ||
      wordAt(place + bitsInModel) !== null ||
      wordAt(pointers.at(place) ?? -1) !== null
    );
  }
}

/** Place in a table of pointers → how the other file's function in that place ends the program. */
function importsOf(source: ByteSource, elf: Elf): ReadonlyMap<number, Ending> {
  const names = symbolNames(source, elf, "dynamicSymbols");
  const ends = new Map<number, Ending>();
  let index = 0;
  for (const { nameAt, isImport } of readSymbols(source, elf, "dynamicSymbols")) {
    const end = isImport ? endings.get(names.text(nameAt)) : undefined;
    if (end !== undefined) ends.set(index, end);
    index++;
  }
  const found = new Map<number, Ending>();
  if (ends.size > 0)
    for (const section of elf.sections.filter(({ name }) => name === ".rela.plt" || name === ".rela.dyn"))
      eachRelocation(source, section, ({ place, type, symbol }) => {
        const end = type === relocation.jump || type === relocation.data ? ends.get(symbol) : undefined;
        if (end !== undefined) found.set(place, end);
      });
  return found;
}

/** The place in a table of pointers to which a stub jumps: JMP with ENDBR64 or BND before (System V ABI, "Procedure Linkage Table"). */
function stubOf(reader: FunctionReader, target: number): number | null {
  const bytes = reader.bytesFrom(target);
  const at =
    bytes === null ? -1 : bytes.findIndex((each, index) => each === 0xff && bytes[index + 1] === 0x25);
  return bytes === null || at < 0 || at > 5 ? null : target + at + 6 + (u32(bytes, at + 2) | 0);
}
