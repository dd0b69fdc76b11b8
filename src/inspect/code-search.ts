/** Searches a file of any size for the first bytes of code: one pass serves all patterns. */

import { type ByteSource, windowBytes, withWindowAsync } from "./byte-source.ts";
import type { Elf } from "./elf/elf.ts";

/** Windows overlap by the longest pattern and the byte before, so that no pattern is lost between two windows. */
const overlap = 16;
const stepBytes = windowBytes - overlap;

export interface CodePattern {
  /** The search is for the pattern from its rarest byte on; so many bytes of the code stand before it. */
  readonly lead: number;
  /** Fewer than eight: Node's search for longer ones takes five times as long. */
  readonly bytes: Buffer;
  /** One of these pairs of bytes must follow; absent for any. */
  readonly endings?: readonly (readonly [number, number])[];
  /** Returns the end of the code that begins at a place; the place itself if there is none. */
  readonly found: (at: number) => number | Promise<number>;
}

export function searchCode(source: ByteSource, patterns: readonly CodePattern[]): Promise<void> {
  return withWindowAsync(async (window) => {
    for (let at = 0; at < source.size; ) {
      at = await searchWindow(source.readOver(at, window), at, patterns);
      // Lets other work run between windows.
      await new Promise(setImmediate);
    }
  });
}

/** Returns where the search goes on: behind this window, or behind a container that is larger. */
async function searchWindow(
  bytes: Uint8Array,
  start: number,
  patterns: readonly CodePattern[],
): Promise<number> {
  const window = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const next = patterns.map((pattern) => indexFrom(window, pattern, 0));
  for (let done = 0; ; ) {
    const first = next.indexOf(Math.min(...next));
    const at = next[first] ?? Number.POSITIVE_INFINITY;
    const pattern = patterns[first];
    if (pattern === undefined || at >= stepBytes) return start + stepBytes;
    done = Math.max(at + 1, (await pattern.found(start + at)) - start);
    if (done >= stepBytes) return start + done;
    for (const [index, each] of patterns.entries())
      if ((next[index] ?? 0) < done) next[index] = indexFrom(window, each, done);
  }
}

function indexFrom(window: Buffer, { bytes, lead, endings }: CodePattern, from: number): number {
  for (let at = window.indexOf(bytes, from + lead); at !== -1; at = window.indexOf(bytes, at + 1)) {
    const behind = at + bytes.length;
    if (endings === undefined || endings.some(([a, b]) => window[behind] === a && window[behind + 1] === b))
      return at - lead;
  }
  return Number.POSITIVE_INFINITY;
}

/** Finds the name of the section that holds a place. By bisection: a hostile file may have many of both. */
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
