/** Finds marks of code anywhere in a stream: behind a script, or in an unknown format. */

import { bundleMagic } from "../amd/bundle.ts";
import { compressedMagic, isCompressedBundle } from "../amd/compressed-bundle.ts";
import { elfMachine, elfType, isGpuMachine } from "../elf/elf.ts";
import { containerMagic } from "../nvidia/fatbin.ts";
import { u16, u32 } from "../little-endian.ts";
import { type Chunks, createChunkReader } from "./chunks.ts";

/** `zip` is an entry of an archive, `program` a program or library for a CPU. */
export type Mark = "zip" | "gpu" | "program";

export interface FoundMark {
  readonly mark: Mark;
  /** Bytes before it. */
  readonly at: number;
  /** The stream from the mark on. */
  readonly rest: Chunks;
}

/** Enough bytes to tell every mark. */
const markBytes = 32;

/**
 * Fewer than eight bytes each: Node's search for longer ones is slower. A match may only look like GPU code: its reader finds out.
 * Programs of 32 bits have no pattern.
 */
const patterns: readonly {
  readonly bytes: Buffer;
  readonly markAt: (bytes: Buffer, at: number) => Mark | null;
}[] = [
  { bytes: Buffer.from("PK\x03\x04"), markAt: () => "zip" },
  { bytes: Buffer.from(containerMagic.subarray(0, 7)), markAt: () => "gpu" },
  { bytes: bundleMagic.subarray(0, 7), markAt: bundleMark },
  {
    bytes: compressedMagic,
    markAt: (bytes, at) => (isCompressedBundle(bytes.subarray(at, at + markBytes)) ? "gpu" : null),
  },
  { bytes: Buffer.of(0x7f, 0x45, 0x4c, 0x46, 2, 1, 1), markAt: elfMark },
];

/** Texts and programs about bundles have the magic, and no table behind it. */
function bundleMark(bytes: Buffer, at: number): Mark | null {
  const isBundle = bundleMagic.equals(bytes.subarray(at, at + bundleMagic.length));
  const count = u32(bytes, at + bundleMagic.length);
  return isBundle && count > 0 && count < 2 ** 16 ? "gpu" : null;
}

const cpus: ReadonlySet<number> = new Set(Object.values(elfMachine));

/** Only files that a loader or a driver takes are marks. */
function elfMark(bytes: Buffer, at: number): Mark | null {
  const machine = u16(bytes, at + 18);
  if (isGpuMachine(machine)) return "gpu";
  const type = u16(bytes, at + 16);
  return cpus.has(machine) && (type === elfType.executable || type === elfType.shared) ? "program" : null;
}

/** The first of the wanted marks; null if the stream has none. */
export async function findMark(chunks: Chunks, wanted: readonly Mark[]): Promise<FoundMark | null> {
  const reader = createChunkReader(chunks);
  /** The last bytes that were searched: a mark may begin in them. */
  let carried = Buffer.alloc(0);
  for (let done = 0; ; ) {
    const next = await reader.next(Number.POSITIVE_INFINITY);
    if (next === null) return null;
    const chunk = Buffer.from(next.buffer, next.byteOffset, next.length);
    const seam = Buffer.concat([carried, chunk.subarray(0, markBytes - 1)]);
    const early = firstMark(seam, wanted, carried.length);
    if (early !== null) {
      const rest = Buffer.concat([carried.subarray(early.at), chunk]);
      return { mark: early.mark, at: done - carried.length + early.at, rest: reader.behind(rest) };
    }
    const found = firstMark(chunk, wanted, chunk.length);
    if (found !== null)
      return { ...found, at: done + found.at, rest: reader.behind(chunk.subarray(found.at)) };
    done += chunk.length;
    const end = chunk.length < markBytes ? seam : chunk;
    carried = Buffer.from(end.subarray(Math.max(0, end.length - markBytes + 1)));
  }
}

/** The first whole mark that begins before `end`. */
function firstMark(bytes: Buffer, wanted: readonly Mark[], end: number): { at: number; mark: Mark } | null {
  let first: { at: number; mark: Mark } | null = null;
  for (const { bytes: pattern, markAt } of patterns) {
    const stop = Math.min(first?.at ?? end, bytes.length - markBytes + 1);
    for (let at = bytes.indexOf(pattern); at >= 0 && at < stop; at = bytes.indexOf(pattern, at + 1)) {
      const mark = markAt(bytes, at);
      if (mark === null || !wanted.includes(mark)) continue;
      first = { at, mark };
      break;
    }
  }
  return first;
}
