/** CPU features of AArch64 instructions, by a table over their 32-bit words. */

import type { ByteSource } from "../byte-source.ts";
import { type Arm64Row, arm64Rows, undecidedWithSve } from "./arm64-table.ts";
import { type CpuCode, createFeatureTally } from "./cpu-code.ts";
import type { CodeRegion } from "./regions.ts";

const windowBytes = 4 * 2 ** 20;
/** Between functions, so many bytes with a word that is no instruction may be data. */
const blockBytes = 4096;

export async function readArm64Code(source: ByteSource, regions: Iterable<CodeRegion>): Promise<CpuCode> {
  const sure = new Uint32Array(arm64Rows.length);
  const doubtful = new Uint32Array(arm64Rows.length);
  const block = new Uint32Array(arm64Rows.length);
  let codeBytes = 0;
  let sinceRest = 0;
  for (const { offset, size, isFunction } of regions) {
    const step = isFunction ? windowBytes : blockBytes;
    for (let at = 0; at < size; at += step) {
      const bytes = source.read(offset + at, Math.min(step, size - at));
      const hasData = countWords(bytes, isFunction ? sure : block);
      if (!isFunction) {
        const counts = hasData ? doubtful : sure;
        for (const [index, count] of block.entries()) counts[index] = (counts[index] ?? 0) + count;
        block.fill(0);
      }
      codeBytes += bytes.length;
      sinceRest += bytes.length;
      if (sinceRest >= windowBytes) {
        sinceRest = 0;
        await new Promise(setImmediate);
      }
    }
  }
  return {
    architecture: "aarch64",
    codeBytes,
    features: features(sure, doubtful),
    vexOnly: null,
    // The table knows what an instruction needs, not every instruction there is.
    unknownInstructions: 0,
    asks: [],
  };
}

/** Answers whether a word was there that no Armv8-A or Armv9-A CPU executes (C4.1: reserved and unallocated groups). */
function countWords(bytes: Uint8Array, counts: Uint32Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  let hasData = false;
  for (let at = 0; at + 4 <= bytes.length; at += 4) {
    const word = view.getUint32(at, true);
    const rows = groups[(word >>> 25) & 0xf] ?? [];
    for (const [index, mask, value] of rows) {
      if ((word & mask) >>> 0 === value) {
        counts[index] = (counts[index] ?? 0) + 1;
        break;
      }
    }
    if ((word & 0x1a000000) === 0x02000000 || (word & 0x9e000000) === 0) hasData = true;
  }
  return hasData;
}

/** The table by bits 25 to 28, the top level of the encoding: most words are looked up in an empty or short list. */
const groups: readonly (readonly (readonly [index: number, mask: number, value: number])[])[] = Array.from(
  { length: 16 },
  (_, group) =>
    arm64Rows.flatMap(([mask, value]: Arm64Row, index) => {
      const fits = ((mask >>> 25) & (group ^ (value >>> 25)) & 0xf) === 0;
      return fits ? [[index, mask, value >>> 0] as const] : [];
    }),
);

function features(sure: Uint32Array, doubtful: Uint32Array): CpuCode["features"] {
  const tally = createFeatureTally();
  let sve = 0;
  for (const [index, [, , feature]] of arm64Rows.entries()) {
    for (const name of feature?.split(" ") ?? []) {
      tally.add(name, "instructions", sure[index] ?? 0);
      tally.add(name, "doubtful", doubtful[index] ?? 0);
    }
    if (feature === "sve") sve += (sure[index] ?? 0) + (doubtful[index] ?? 0);
  }
  for (const feature of undecidedWithSve) tally.add(feature, "doubtful", sve);
  return tally.result();
}
