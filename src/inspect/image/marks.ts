/** Marks of what has code in it, anywhere in a stream: behind a script, in a format of somebody's own. */

import { elfMachine, elfType, isElf } from "../elf/elf.ts";
import { containerMagic } from "../gpu/fatbin.ts";
import { readCubinHeader } from "../gpu/cubin.ts";
import { u16 } from "../little-endian.ts";
import { type Chunks, createChunkReader } from "./chunk-reader.ts";
import { isZip } from "./zip.ts";

/** A file of a zip archive, GPU code, a program or library for a CPU. */
export type Mark = "zip" | "gpu" | "program";

export interface FoundMark {
  readonly mark: Mark;
  /** Bytes before it. */
  readonly at: number;
  /** From the mark on. */
  readonly rest: Chunks;
}

/** So many bytes tell each: the header of a cubin. */
const markBytes = 64;

interface Pattern {
  /** Searched for from its rarest byte on, which is so many bytes after the beginning. */
  readonly lead: number;
  readonly bytes: Buffer;
  readonly markOf: (head: Uint8Array) => Mark | null;
}

const patterns: readonly Pattern[] = [
  { lead: 1, bytes: Buffer.of(0x4b, 3, 4), markOf: (head) => (isZip(head) ? "zip" : null) },
  {
    lead: 1,
    bytes: Buffer.from(containerMagic.subarray(1)),
    markOf: (head) => (head[0] === containerMagic[0] ? "gpu" : null),
  },
  { lead: 0, bytes: Buffer.of(0x7f, 0x45, 0x4c, 0x46), markOf: elfMark },
];

const cpus: ReadonlySet<number> = new Set(Object.values(elfMachine));

/** Of what a loader takes: an executable or a shared library, of a known class and version. */
function elfMark(head: Uint8Array): Mark | null {
  if (!isElf(head) || (head[4] !== 1 && head[4] !== 2) || head[5] !== 1 || head[6] !== 1) return null;
  if (u16(head, 18) === elfMachine.cuda) return readCubinHeader(head) === null ? null : "gpu";
  if (!cpus.has(u16(head, 18))) return null;
  const type = u16(head, 16);
  return type === elfType.executable || type === elfType.shared ? "program" : null;
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
  for (const { bytes: pattern, lead, markOf } of patterns) {
    const stop = Math.min(first?.at ?? end, bytes.length - markBytes + 1);
    for (
      let at = bytes.indexOf(pattern, lead) - lead;
      at >= 0 && at < stop;
      at = bytes.indexOf(pattern, at + lead + 1) - lead
    ) {
      const mark = markOf(bytes.subarray(at, at + markBytes));
      if (mark === null || !wanted.includes(mark)) continue;
      first = { at, mark };
      break;
    }
  }
  return first;
}
