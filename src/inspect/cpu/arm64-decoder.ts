/**
 * Decodes AArch64 words as far as the features that they need. A word is of Armv8.0-A, of a known extension, or unknown: then it may need
 * anything.
 */

import { once } from "../../io/collections.ts";
import base from "./arm64-base.json" with { type: "json" };
import features from "./arm64-features.json" with { type: "json" };
import sve from "./arm64-sve.json" with { type: "json" };
import system from "./arm64-system.json" with { type: "json" };

/** Words that equal `value` under `mask`, and the features such words need: Linux names with spaces, none for Armv8.0-A. */
type Arm64Row = readonly [mask: number, value: number, features: string, trait?: Arm64Trait];

/** `asks` reads the CPU's features. `unproven` also stands in programs that run without the feature, and do not reach it then. */
type Arm64Trait = "asks" | "unproven";

/** scripts/arm64-table.mjs writes rows `["0xffffcc00", "0x4e284800", "aes", "aese aesd aesmc aesimc"]`: mask, value, features, instructions. */
const readRows = ({ rows }: { readonly rows: readonly (readonly string[])[] }): readonly Arm64Row[] =>
  rows.map(([mask, value, needed = ""]) => [Number(mask), Number(value), needed]);

/** MRS and MSR of a system register with any general register: bit 21 is the direction. */
function registerRow(name: string, features: string): Arm64Row {
  const [op0 = 0, op1 = 0, n = 0, m = 0, op2 = 0] = name.split("_").map(Number);
  const value = 0xd5000000 + op0 * 2 ** 19 + op1 * 2 ** 16 + n * 2 ** 12 + m * 2 ** 8 + op2 * 2 ** 5;
  return [0xffdfffe0, value, features];
}

/**
 * System registers and instructions that programs may use (DDI 0487, C5.2, C5.3 and D24). The kernel's raise an exception in a program, or
 * Linux emulates them (`Documentation/arch/arm64/cpu-feature-registers.rst`): they need nothing. Other registers of programs are unknown.
 * The first row that matches counts.
 */
const systemRows: readonly Arm64Row[] = [
  ...system.registers.map(([name = "", features = ""]) => registerRow(name, features)),
  ...system.rows.map(([mask, value, features = "", trait]): Arm64Row => {
    const row = [Number(mask), Number(value), features] as const;
    return trait ? [...row, trait as Arm64Trait] : row;
  }),
];

/** The first that fits counts. */
export const arm64Rows: readonly Arm64Row[] = [
  // LLVM's libunwind, compiler-rt and libgcc save ZA with these in every program. The routines ask the CPU first, and a program that uses SME
  // also has SMSTART or computes with SME (AAPCS64, "SME support routines").
  [0xffdfffe0, 0xd51bd0a0, "sme", "unproven"], // MRS, MSR TPIDR2_EL0
  [0xffffffe0, 0xd53b4240, "sme", "unproven"], // MRS SVCR
  [0xfffff1ff, 0xd503407f, "sme", "unproven"], // SMSTOP
  [0xffdf9c10, 0xe1000000, "sme", "unproven"], // LDR, STR of ZA
  [0xffe0f800, 0x04205800, "sme", "unproven"], // ADDSVL
  [0xfffff800, 0x04bf5800, "sme", "unproven"], // RDSVL
  ...systemRows,
  // Before RETAASPPC, whose row matches it too.
  [0xfffffbff, 0xd65f0bff, "paca"], // RETAA, RETAB
  // libgcc reads the length of vectors to unwind stacks, in every C++ program.
  [0xffffffe0, 0x04e0e3e0, "sve", "unproven"], // CNTD
  // Beyond Armv8.0-A, without SVE and SME.
  ...readRows(features),
  ...readRows(sve),
  // Armv8.0-A with floating point and Advanced SIMD.
  ...readRows(base),
  // UDF is undefined on every CPU (C6.2): compilers write it where no program arrives.
  [0xffff0000, 0x00000000, ""],
  // The whole group of SME (C4.1.1).
  [0x9e000000, 0x80000000, "sme"],
];

/** Parts of SME, which the rows do not tell apart: code with SME may use them. */
export const undecidedWithSme: readonly string[] =
  "sme2 sme2p1 smeb16b16 smeb16f32 smebi32i32 smef16f16 smef16f32 smef32f32 smef64f64 smef8f16 smef8f32 smefa64 smei16i32 smei16i64 smei8i32 smelutv2".split(
    " ",
  );

export const unknownWord = -1;

/** Finds the row of a word, or {@link unknownWord}. Its first use takes about 0.1 s. */
export const arm64Decoder = once(createDecoder);

/** The index has bits 31 to 21 and 15 to 10, in which nearly all instructions differ. */
const highBits = 11;
const lowBits = 6;

function createDecoder(): (word: number) => number {
  const masks = Int32Array.from(arm64Rows, ([mask]) => mask | 0);
  const values = Int32Array.from(arm64Rows, ([, value]) => value | 0);
  const { starts, candidates } = createIndex();
  return (word) => {
    const bucket = ((word >>> 21) << lowBits) | ((word >>> 10) & 0x3f);
    for (let at = starts[bucket] ?? 0, end = starts[bucket + 1] ?? 0; at < end; at++) {
      const row = candidates[at] ?? 0;
      if ((word & (masks[row] ?? 0)) === values[row]) return row;
    }
    return unknownWord;
  };
}

/** The rows that match each value of the index bits, one list behind another. */
function createIndex(): { starts: Uint32Array; candidates: Uint16Array } {
  const starts = new Uint32Array(2 ** (highBits + lowBits) + 1);
  eachBucket((bucket) => {
    starts[bucket + 1] = (starts[bucket + 1] ?? 0) + 1;
  });
  for (let bucket = 1; bucket < starts.length; bucket++)
    starts[bucket] = (starts[bucket] ?? 0) + (starts[bucket - 1] ?? 0);
  const next = starts.slice();
  const candidates = new Uint16Array(starts.at(-1) ?? 0);
  eachBucket((bucket, row) => {
    const at = next[bucket] ?? 0;
    candidates[at] = row;
    next[bucket] = at + 1;
  });
  return { starts, candidates };
}

function eachBucket(use: (bucket: number, row: number) => void): void {
  for (const [row, [mask, value]] of arm64Rows.entries()) {
    const lows = matching((mask >>> 10) & 0x3f, (value >>> 10) & 0x3f, lowBits);
    for (const high of matching(mask >>> 21, value >>> 21, highBits))
      for (const low of lows) use((high << lowBits) | low, row);
  }
}

/** Every number of so many bits that equals the value under the mask. */
function matching(mask: number, value: number, bits: number): readonly number[] {
  const found = [value];
  for (let bit = 1; bit < 2 ** bits; bit <<= 1)
    if ((mask & bit) === 0) for (let at = found.length - 1; at >= 0; at--) found.push((found[at] ?? 0) | bit);
  return found;
}
