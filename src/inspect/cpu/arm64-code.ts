/** Finds the CPU features of AArch64 code: every word of it is looked up. */

import { type ByteSource, windowBytes, withWindowAsync } from "../byte-source.ts";
import { arm64Decoder, arm64Rows, undecidedWithSme, unknownWord } from "./arm64-decoder.ts";
import { type CpuCode, createFeatureTally, withoutLinks } from "./cpu-code.ts";
import { blockBytes, type CodeRegion } from "./regions.ts";

/** @param isChosen true for places of functions that say nothing of other code */
export function readArm64Code(
  source: ByteSource,
  regions: Iterable<CodeRegion>,
  isChosen: (offset: number) => boolean = () => false,
): Promise<CpuCode> {
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
    const functions = { newer: 0, older: 0, both: 0 };
    for (const { offset, size, kind } of regions) {
      const isFunction = kind === "function" && !isChosen(offset);
      let seen = 0;
      const step = Math.min(windowBytes, blockBytes[kind]);
      for (let at = 0; at < size; at += step) {
        const bytes = source.readOver(offset + at, buffer.subarray(0, Math.min(step, size - at)));
        const { unknown, ways } = countWords(bytes, isFunction ? sure : block, isFunction ? null : touched);
        if (isFunction) seen |= ways;
        if (unknown === 0 && (ways & marks.sums) !== 0) functions.both++;
        if (isFunction) unknownInstructions += unknown;
        else {
          const counts =
            kind === "constants" && unknown > 0 ? ignored : kind === "gap" && unknown === 0 ? sure : doubtful;
          // In a gap nobody knows how many functions there are: one that has LSE alone is enough.
          if (counts === sure && (ways & marks.newer) !== 0 && (ways & marks.older) === 0) functions.newer++;
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
      const ofAtomics = seen & (marks.newer | marks.older);
      if (ofAtomics === marks.newer) functions.newer++;
      else if (ofAtomics === marks.older) functions.older++;
    }
    return {
      architecture: "aarch64",
      codeBytes,
      features: features(sure, doubtful),
      evidence: evidenceOf(functions),
      unknownInstructions,
      asks: asked(sure),
      ...withoutLinks,
    };
  });
}

/**
 * Bits for the two ways to atomic operations, one instruction of LSE or a loop of exclusive loads and stores, and for SHA3 right behind PMULL, as in
 * checksums.
 */
const marks = { newer: 1, older: 2, sha3: 4, pmull: 8, sums: 16 } as const;
/** Bytes from PMULL to SHA3. */
const nearBytes = 32;

/** The group of exclusive loads and stores: bits 29 to 24 are 001000, and bit 23, which is set for LSE, is 0 (DDI 0487, C4.1). */
const exclusive = { mask: 0x3f80_0000, value: 0x0800_0000 } as const;
const rowMarks = Uint8Array.from(arm64Rows, ([mask, value, names]) => {
  const needed = names.split(" ");
  if (needed.includes("atomics")) return marks.newer;
  if (needed.includes("sha3")) return marks.sha3;
  if (needed.includes("pmull")) return marks.pmull;
  const isExclusive =
    (mask & exclusive.mask) === exclusive.mask && (value & exclusive.mask) === exclusive.value;
  return isExclusive ? marks.older : 0;
});

function evidenceOf({ newer, older, both }: Record<"newer" | "older" | "both", number>): CpuCode["evidence"] {
  if (newer + older + both === 0) return null;
  const pairs = newer + older === 0 ? {} : { atomics: { newer, older, olderRuns: newer === 0 ? 1 : 0 } };
  const beside = both === 0 ? {} : { sha3: ["pmull"] };
  return { vectors: 0, legacy: 0, afterSse2: 0, pairs, spread: {}, beside };
}

/** Returns the number of unknown instructions, and the marks of all. */
function countWords(bytes: Uint8Array, counts: Uint32Array, touched: number[] | null) {
  const decode = arm64Decoder();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let unknown = 0;
  let ways = 0;
  let product = Number.NEGATIVE_INFINITY;
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const row = decode(view.getInt32(at, true));
    if (row === unknownWord) {
      unknown++;
      continue;
    }
    const count = counts[row] ?? 0;
    if (count === 0) touched?.push(row);
    counts[row] = count + 1;
    const mark = rowMarks[row] ?? 0;
    if (mark === marks.pmull) product = at;
    ways |= mark === marks.sha3 && at - product <= nearBytes ? marks.sums : mark;
  }
  return { unknown: unknown === 0 ? 0 : unknown - unknownConstants(view), ways };
}

/** Unknown words that are constants: LDR and LDRSW of a place nearby load these (DDI 0487, C4.1, "Load register (literal)"). */
function unknownConstants(view: DataView): number {
  const decode = arm64Decoder();
  const found = new Set<number>();
  for (let at = 0; at + 4 <= view.byteLength; at += 4) {
    const word = view.getInt32(at, true);
    if ((word & 0x3b00_0000) !== 0x1800_0000) continue;
    const place = at + (((word << 8) >> 13) << 2);
    const words = 4 << (word >>> 30 === 2 ? 0 : word >>> 30);
    for (let each = place; each < place + words; each += 4)
      if (each >= 0 && each + 4 <= view.byteLength && decode(view.getInt32(each, true)) === unknownWord)
        found.add(each);
  }
  return found.size;
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
