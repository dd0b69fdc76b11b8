/** Finds the CPU features of AArch64 code: every word of it is looked up. */

import { type ByteSource, windowBytes, withWindowAsync } from "../byte-source.ts";
import { arm64Decoder, arm64Rows, undecidedWithSme, unknownWord } from "./arm64-decoder.ts";
import { type CpuCode, createFeatureTally, withoutLinks } from "./cpu-code.ts";
import { blockBytes, type CodeRegion } from "./regions.ts";

export function readArm64Code(source: ByteSource, regions: Iterable<CodeRegion>): Promise<CpuCode> {
  return withWindowAsync(async (buffer) => {
    const sure = new Uint32Array(arm64Rows.length);
    const doubtful = new Uint32Array(arm64Rows.length);
    const ignored = new Uint32Array(arm64Rows.length);
    const block = new Uint32Array(arm64Rows.length);
    /** Rows in `block`: most gaps have a word or two. */
    const touched: number[] = [];
    let codeBytes = 0;
    let sinceRest = 0;
    let unknownInstructions = 0;
    const functions = { newer: 0, older: 0 };
    for (const { offset, size, kind } of regions) {
      const isFunction = kind === "function";
      let seen = 0;
      const step = Math.min(windowBytes, blockBytes[kind]);
      for (let at = 0; at < size; at += step) {
        const bytes = source.readOver(offset + at, buffer.subarray(0, Math.min(step, size - at)));
        const { unknown, ways } = countWords(bytes, isFunction ? sure : block, isFunction ? null : touched);
        if (isFunction) seen |= ways;
        if (isFunction) unknownInstructions += unknown;
        else {
          const counts =
            kind === "constants" && unknown > 0 ? ignored : kind === "gap" && unknown === 0 ? sure : doubtful;
          for (const row of touched.splice(0)) {
            counts[row] = (counts[row] ?? 0) + (block[row] ?? 0);
            block[row] = 0;
          }
        }
        codeBytes += bytes.length;
        sinceRest += bytes.length;
        if (sinceRest >= windowBytes) {
          sinceRest = 0;
          await new Promise(setImmediate);
        }
      }
      // Helpers of compilers and libraries have both, and ask which one to take.
      if (seen === atomics.newer) functions.newer++;
      else if (seen === atomics.older) functions.older++;
    }
    return {
      architecture: "aarch64",
      codeBytes,
      features: features(sure, doubtful),
      evidence: evidenceOf(functions.newer, functions.older),
      unknownInstructions,
      asks: asked(sure),
      ...withoutLinks,
    };
  });
}

/** Bits for the two ways to atomic operations: one instruction of LSE, or a loop of exclusive loads and stores. */
const atomics = { newer: 1, older: 2 } as const;

/** The group of exclusive loads and stores: bits 29 to 24 are 001000, and bit 23, which is set for LSE, is 0 (DDI 0487, C4.1). */
const exclusive = { mask: 0x3f80_0000, value: 0x0800_0000 } as const;
const atomicKinds = Uint8Array.from(arm64Rows, ([mask, value, names]) => {
  if (names.split(" ").includes("atomics")) return atomics.newer;
  const isExclusive =
    (mask & exclusive.mask) === exclusive.mask && (value & exclusive.mask) === exclusive.value;
  return isExclusive ? atomics.older : 0;
});

function evidenceOf(newer: number, older: number): CpuCode["evidence"] {
  if (newer + older === 0) return null;
  const pairs = { atomics: { newer, older, olderRuns: newer === 0 ? 1 : 0 } };
  return { vectors: 0, legacy: 0, afterSse2: 0, pairs, spread: {} };
}

/** Returns the number of unknown instructions, and the ways to atomic operations. */
function countWords(bytes: Uint8Array, counts: Uint32Array, touched: number[] | null) {
  const decode = arm64Decoder();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let unknown = 0;
  let ways = 0;
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const row = decode(view.getInt32(at, true));
    if (row === unknownWord) {
      unknown++;
      continue;
    }
    const count = counts[row] ?? 0;
    if (count === 0) touched?.push(row);
    counts[row] = count + 1;
    ways |= atomicKinds[row] ?? 0;
  }
  return { unknown, ways };
}

function features(sure: Uint32Array, doubtful: Uint32Array): CpuCode["features"] {
  const tally = createFeatureTally();
  let sme = 0;
  for (const [index, [, , names, trait]] of arm64Rows.entries()) {
    const counts = { instructions: sure[index] ?? 0, doubtful: doubtful[index] ?? 0 };
    if (names === "" || counts.instructions + counts.doubtful === 0) continue;
    for (const name of names.split(" ")) {
      tally.add(name, trait === "unproven" ? "doubtful" : "instructions", counts.instructions);
      tally.add(name, "doubtful", counts.doubtful);
    }
    if (names === "sme") sme += counts.instructions + counts.doubtful;
  }
  for (const feature of undecidedWithSme) tally.add(feature, "doubtful", sme);
  return tally.result();
}

function asked(sure: Uint32Array): readonly string[] {
  return arm64Rows.some(([, , , trait], row) => trait === "asks" && (sure[row] ?? 0) > 0) ? ["MRS ID_…"] : [];
}
