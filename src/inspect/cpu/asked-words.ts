/** Knows where a program finds the CPU's answer: in the data of libgcc's or Rust's question, or in CPUID's registers; and the functions that end a program. */

import { remember } from "../../io/collections.ts";
import bits from "./asked-features.json" with { type: "json" };
import type { FixedPointers } from "./fixed-pointers.ts";
import { type Ending, isEnding, type Kind, type NamedCalls } from "./named-calls.ts";
import { u32 } from "../little-endian.ts";
import { longestAnswer } from "./way-calls.ts";
import { type AnswerNames, rustQuestion } from "./rust-question.ts";
import type { FunctionReader, X86Instruction } from "./x86-functions.ts";

export interface AskedWords {
  /** The names of the bits of the word in a place, from the bit `shift` on. */
  readonly at: (place: number) => { readonly names: readonly string[]; readonly shift: number } | null;
  /** True for data that is zero until a function that asks writes to it; absent where nobody looks. */
  readonly isZeroAtFirst?: ((place: number) => boolean) | undefined;
  /** Hears what an instruction keeps of an answer in a place of data, and tells whether it stays there; absent where all stays. */
  readonly mayKeep?: (place: number, bytes: number, by: number) => boolean;
  /** The names of the bits of CPUID's registers; null where no need is told. */
  readonly leaf: (leaf: number | null, part: number | null, register: string) => readonly string[] | null;
  /** The names of the bits that a called function gives back; null where no need is told. */
  readonly givenBack: (target: number) => readonly string[] | null;
  /** The program asks by Rust's `is_x86_feature_detected`. */
  readonly hasRust: boolean;
  /** How a called function ends the program; null if the function returns. */
  readonly endOf: (target: number, isPointer: boolean) => Ending | null;
  /** A function that ends the program by what it calls, as Rust's own exit does. */
  readonly neverReturns: (target: number) => boolean;
  /** A function that writes down the words, as libgcc's own question does. */
  readonly isQuestion: (target: number) => boolean;
  /** The place is in Rust's question. */
  readonly isRustQuestion: (place: number) => boolean;
  /** A function that asks by itself. */
  readonly asks: (target: number) => boolean;
  /** A function that hands on the answer. */
  readonly mayAnswer: (target: number) => boolean;
  /** The place has an answer. */
  readonly hasAnswer: (place: number) => boolean;
  readonly pointers: Pick<FixedPointers, "at"> & Partial<FixedPointers>;
  /** The length of a list at the start of the program; absent where nobody counts. */
  readonly lengthAt?: (place: number) => number | null;
  /** True where a program has in its data what stands there at the start: whatever is found may be none; absent where nobody looks so. */
  readonly isLoose?: () => boolean;
  /** Hears which data a way reads that was kept there before, or at the start of the program; `isAddress` of what stands there. */
  readonly relies?: (place: number, isAddress: boolean) => void;
  /** The names of a bit that code tests by a number that nobody knows; null where no need is told. */
  readonly anyBit: readonly string[] | null;
}

/** Vendor, type and subtype of the CPU stand before the bits (libgcc, struct __processor_model). */
const bitsInModel = 12;
const wordBytes = 4;
/** A hostile function calls thousands. */
const mostSetters = 64;
const longestSetter = 128;
const mostThrough = 3;
/** The later bits stand beside the model, as both are of one file of libgcc. */
const isBesideModel = (distance: number) =>
  distance >= -64 && distance < 64 && (distance < 0 || distance >= bitsInModel + wordBytes);

/**
 * `constructors` has the starts of functions that run first; `asking` is of {@link askingFunctions}, `namesOfRust` of {@link rustNames}.
 */
export function askedWords(
  reader: FunctionReader,
  pointers: FixedPointers,
  named: NamedCalls,
  asking: ReadonlyMap<number, number>,
  constructors: readonly number[],
  namesOfRust: AnswerNames,
): AskedWords {
  const words = new Map<number, readonly string[]>();
  const addModel = (address: number) => words.set(address + bitsInModel, bits.model.split(" "));
  const addFeatures2 = (address: number) => {
    for (const [index, text] of bits.features2.entries())
      words.set(address + wordBytes * index, text.split(" "));
  };
  for (const [address, kind] of named.own) {
    if (kind === "model") addModel(address);
    if (kind === "features2") addFeatures2(address);
  }
  const rust = rustQuestion(reader, asking, namesOfRust);
  for (const [place, names] of rust.words) words.set(place, names);
  // Stripped: libgcc's question looks first whether the answer is there.
  if (words.size === 0)
    for (const address of constructors.filter((each) => asking.get(each) === 0)) {
      const code = reader.instructions(address) ?? [];
      const model = code.find(({ reads }) => reads !== null)?.reads ?? null;
      if (model === null) continue;
      addModel(model);
      const [found, another] = [...besideModel(code, model, reader)];
      if (found !== undefined && another === undefined) addFeatures2(found);
    }
  const endless = new Map<number, boolean>();
  const handing = new Map<string, boolean>();
  const own = new Map<number, boolean>();
  const [first, last] = [Math.min(...words.keys()), Math.max(...words.keys())];
  const wordAt = (place: number) => {
    if (!(place >= first && place < last + 8)) return null;
    const start = [0, 1, 2, 3, 4, 5, 6, 7].map((shift) => place - shift).find((each) => words.has(each));
    const names = start === undefined ? undefined : words.get(start);
    return start === undefined || names === undefined ? null : { names, shift: 8 * (place - start) };
  };
  return {
    at: wordAt,
    ...{ pointers, anyBit: null },
    leaf(leaf, part, register) {
      const name = `${leaf === null ? "" : (leaf >>> 0).toString(16)} ${register}`;
      const text = leaf === 7 && part !== 0 ? undefined : (bits.leaves as Record<string, string>)[name];
      return text?.split(" ") ?? null;
    },
    givenBack: (target) => (rust.functions.has(target) ? namesOfRust.slice(0, 64) : null),
    hasRust: rust.hasAny,
    hasAnswer: (place) => wordAt(place) !== null,
    endOf(target, isPointer) {
      const kind = kindAt(target, isPointer);
      return kind !== null && isEnding(kind) ? kind : null;
    },
    neverReturns: (target) => remember(endless, target, () => isEndless(target, reader)),
    isRustQuestion: rust.isAround,
    isQuestion: (target) =>
      remember(own, target, () => {
        const code = asking.get(target) === 0 ? (reader.instructions(target) ?? []) : [];
        return code.some(({ reads, writes, takes }) =>
          [reads, writes, takes].some((each) => each !== null && isNear(each)),
        );
      }),
    asks: (target) => asking.get(target) === 0,
    mayAnswer: (target) => handsOn(target, mostThrough),
  };

  /** Rust without optimization asks through functions that do nothing else. */
  function handsOn(target: number, calls: number): boolean {
    if (asking.has(target)) return true;
    return remember(handing, `${target} ${calls}`, () =>
      (reader.instructions(target) ?? []).some(
        ({ asks, reads, takes, flow, target: called }) =>
          asks ||
          [reads, takes].some((each) => each !== null && isNear(each)) ||
          (flow === "call" &&
            called !== null &&
            calls > 0 &&
            reader.lengthFrom(called) <= longestAnswer &&
            handsOn(called, calls - 1)),
      ),
    );
  }

  function kindAt(target: number, isPointer: boolean): Kind | null {
    const pointed = isPointer ? pointers.at(target) : null;
    return named.kindAt(target, isPointer) ?? (pointed === null ? null : named.kindAt(pointed, false));
  }

  function isNear(place: number): boolean {
    return (
      wordAt(place) !== null ||
      wordAt(place + bitsInModel) !== null ||
      wordAt(pointers.at(place) ?? -1) !== null
    );
  }
}

/** The places beside the model that the functions write to which libgcc's question calls. */
function besideModel(code: readonly X86Instruction[], model: number, reader: FunctionReader) {
  const called = new Set(code.flatMap(({ flow, target }) => (flow === "call" ? (target ?? []) : [])));
  const written = [...called]
    .slice(0, mostSetters)
    .flatMap((each) => (reader.lengthFrom(each) <= longestSetter ? placesIn(each, reader) : []));
  return new Set(written.filter((place) => isBesideModel(place - model)));
}

function isEndless(address: number, reader: FunctionReader): boolean {
  const code = reader.isStart(address) ? (reader.instructions(address) ?? []) : [];
  const end = reader.endAround(address) ?? 0;
  const isWay = ({ flow, target }: X86Instruction) =>
    flow === "end" || (flow === "jump" && (target === null || target < address || target >= end));
  return code.some(({ flow }) => flow === "call") && !code.some(isWay);
}

/** The places that a function takes the address of, and the tables that it reads or writes by an index. */
function placesIn(address: number, reader: FunctionReader): readonly number[] {
  return (reader.instructions(address) ?? []).flatMap(
    ({ at, takes }) => takes ?? tableOf(reader.bytesFrom(at)),
  );
}

/** The displacement behind an index times four without a base, as a program that is never moved has it (Intel SDM 2, "ModR/M and SIB bytes"). */
function tableOf(bytes: Uint8Array | null): number | readonly [] {
  const isTable = bytes !== null && ((bytes[1] ?? 0) & 0xc7) === 0x04 && ((bytes[2] ?? 0) & 0xc7) === 0x85;
  return isTable && bytes.length >= 7 ? u32(bytes, 3) : [];
}
