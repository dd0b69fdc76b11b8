/** A search through a file of any size for the first bytes of code, in one pass for all who look for some. */

import { type ByteSource, borrowBuffer, giveBack, windowBytes } from "./byte-source.ts";
import type { Elf } from "./elf/elf.ts";

/** Longest pattern, less one byte, so that none is lost between two windows; and one byte before it. */
const overlap = 16;
const stepBytes = windowBytes - overlap;

export interface CodePattern {
  /** Searched for from its rarest byte on, which is so many bytes after the beginning. */
  readonly lead: number;
  /** Fewer than eight: Node searches for longer ones in another way, which takes five times as long here. */
  readonly bytes: Buffer;
  /** One of these has to follow. */
  readonly endings: readonly (readonly [number, number])[] | null;
  /** Answers where what begins here ends; the place itself when it is nothing. */
  readonly found: (at: number) => number;
}

export function searchCode(source: ByteSource, patterns: readonly CodePattern[]): void {
  const lent = borrowBuffer(windowBytes);
  const buffer = new Uint8Array(lent);
  for (let at = 0; at < source.size; ) at = searchWindow(source.readOver(at, buffer), at, patterns);
  giveBack(lent);
}

/** Answers where to go on: behind this window, or behind a container that is larger. */
function searchWindow(bytes: Uint8Array, start: number, patterns: readonly CodePattern[]): number {
  const window = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const next = patterns.map((pattern) => indexFrom(window, pattern, 0));
  for (let done = 0; ; ) {
    const first = next.indexOf(Math.min(...next));
    const at = next[first] ?? Number.POSITIVE_INFINITY;
    const pattern = patterns[first];
    if (pattern === undefined || at >= stepBytes) return start + stepBytes;
    done = Math.max(at + 1, pattern.found(start + at) - start);
    if (done >= stepBytes) return start + done;
    for (const [index, each] of patterns.entries())
      if ((next[index] ?? 0) < done) next[index] = indexFrom(window, each, done);
  }
}

function indexFrom(window: Buffer, { bytes, lead, endings }: CodePattern, from: number): number {
  for (let at = window.indexOf(bytes, from + lead); at !== -1; at = window.indexOf(bytes, at + 1)) {
    const behind = at + bytes.length;
    if (endings === null || endings.some(([a, b]) => window[behind] === a && window[behind + 1] === b))
      return at - lead;
  }
  return Number.POSITIVE_INFINITY;
}

/** The name of the section that holds a place, by halving: a hostile file has as many of both as it likes. */
export function placesOf(elf: Elf | null): (at: number) => string {
  const sections = (elf?.sections ?? [])
    .filter(({ size, name }) => size > 0 && name !== "")
    .sort((a, b) => a.offset - b.offset);
  return (at) => {
    let low = 0;
    let high = sections.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sections[middle]?.offset ?? 0) <= at) low = middle + 1;
      else high = middle;
    }
    const last = sections[low - 1];
    return last !== undefined && at < last.offset + last.size ? last.name : "file";
  };
}
