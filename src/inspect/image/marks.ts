/** Marks of what has code in it, anywhere in a stream: behind a script, in a format of somebody's own. */

import { bundleMagic } from "../amd/bundle.ts";
import { compressedMagic, isCompressedBundle } from "../amd/compressed-bundle.ts";
import { elfMachine, elfType } from "../elf/elf.ts";
import { containerMagic } from "../gpu/fatbin.ts";
import { u16, u32 } from "../little-endian.ts";
import { type Chunks, createChunkReader } from "./chunks.ts";

/** A file of a zip archive, GPU code, a program or library for a CPU. */
export type Mark = "zip" | "gpu" | "program";

export interface FoundMark {
  readonly mark: Mark;
  /** Bytes before it. */
  readonly at: number;
  /** From the mark on. */
  readonly rest: Chunks;
}

/** So many bytes tell each. */
const markBytes = 32;

/**
 * Fewer than eight bytes each: Node searches for longer ones in a slower way. The reader that opens a match sees whether it only
 * looks like GPU code; of programs those of 64 bits are known.
 */
const patterns = [
  { bytes: Buffer.from("PK\x03\x04"), markAt: () => "zip" },
  { bytes: Buffer.from(containerMagic.subarray(0, 7)), markAt: () => "gpu" },
  { bytes: bundleMagic.subarray(0, 7), markAt: bundleMark },
  { bytes: compressedMagic, markAt: compressedMark },
  { bytes: Buffer.of(0x7f, 0x45, 0x4c, 0x46, 2, 1, 1), markAt: elfMark },
] as const satisfies readonly {
  readonly bytes: Buffer;
  readonly markAt: (bytes: Buffer, at: number) => Mark | null;
}[];

/** Texts and programs that know bundles have the magic alone. */
function bundleMark(bytes: Buffer, at: number): Mark | null {
  const isBundle = bundleMagic.equals(bytes.subarray(at, at + bundleMagic.length));
  const count = u32(bytes, at + bundleMagic.length);
  return isBundle && count > 0 && count < 2 ** 16 ? "gpu" : null;
}

function compressedMark(bytes: Buffer, at: number): Mark | null {
  return isCompressedBundle(bytes.subarray(at, at + markBytes)) ? "gpu" : null;
}

const cpus: ReadonlySet<number> = new Set(Object.values(elfMachine));

/** Of what a loader or a driver takes. */
function elfMark(bytes: Buffer, at: number): Mark | null {
  const machine = u16(bytes, at + 18);
  if (machine === elfMachine.cuda || machine === elfMachine.amdgpu) return "gpu";
  const type = u16(bytes, at + 16);
  return cpus.has(machine) && (type === elfType.executable || type === elfType.shared) ? "program" : null;
}

/** The first of the wanted marks; null where the stream has none. */
export async function findMark(chunks: Chunks, wanted: readonly Mark[]): Promise<FoundMark | null> {
  const reader = createChunkReader(chunks);
  /** The end of what was searched, where a mark may begin. */
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

/** Of those that begin before `end` and are there as a whole. */
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
