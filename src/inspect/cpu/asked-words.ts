/** Knows where a program finds the CPU's answer: libgcc's `__cpu_model`, and CPUID's registers; and the functions that end a program. */

import bits from "./asked-features.json" with { type: "json" };
import type { FixedPointers } from "./fixed-pointers.ts";
import type { Ending, NamedCalls } from "./named-calls.ts";
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

/** Vendor, type and subtype of the CPU stand before the bits (libgcc, struct __processor_model). */
const bitsInModel = 12;
const wordBytes = 4;

/** `constructors` has the starts of functions that run first; `asking` is of {@link askingFunctions}. */
export function askedWords(
  reader: FunctionReader,
  pointers: FixedPointers,
  named: NamedCalls,
  asking: ReadonlyMap<number, number>,
  constructors: readonly number[],
): AskedWords {
  const words = new Map<number, readonly string[]>();
  const addModel = (address: number) => words.set(address + bitsInModel, bits.model.split(" "));
  for (const [address, kind] of named.own) {
    if (kind === "model") addModel(address);
    if (kind === "features2")
      for (const [index, text] of bits.features2.entries())
        words.set(address + wordBytes * index, text.split(" "));
  }
  // Stripped: libgcc's question looks first whether the answer is there.
  if (words.size === 0)
    for (const address of constructors.filter((each) => asking.get(each) === 0)) {
      const model = reader.instructions(address)?.find(({ reads }) => reads !== null)?.reads ?? null;
      if (model !== null) addModel(model);
    }
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
    endOf(target, isPointer) {
      const kind = named.kindAt(target, isPointer);
      return kind === "starts" || kind === "model" || kind === "features2" ? null : kind;
    },
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
