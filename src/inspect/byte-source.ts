/** Bytes that are read by place: of a file on the disk or in memory, so that no file has to be held whole. */

import { readSync } from "node:fs";

export interface ByteSource {
  readonly size: number;
  /** At most `length` bytes from `at` on; fewer where the source ends, none outside it. They stay as they are. */
  read(at: number, length: number): Uint8Array;
}

const none = new Uint8Array(0);

export function memorySource(bytes: Uint8Array): ByteSource {
  return {
    size: bytes.length,
    read: (at, length) => (isInside(at, bytes.length) ? bytes.subarray(at, at + length) : none),
  };
}

/** An open file; whoever opened it closes it. */
export function fileSource(descriptor: number, size: number): ByteSource {
  return {
    size,
    read(at, length) {
      if (!isInside(at, size)) return none;
      const bytes = Buffer.allocUnsafe(Math.min(length, size - at));
      let filled = 0;
      while (filled < bytes.length) {
        const count = readSync(descriptor, bytes, filled, bytes.length - filled, at + filled);
        if (count === 0) break;
        filled += count;
      }
      return bytes.subarray(0, filled);
    },
  };
}

/** A part of a source as a source of its own, cut where the whole ends. */
export function partOf(source: ByteSource, start: number, length: number): ByteSource {
  const size = isInside(start, source.size) ? Math.max(0, Math.min(length, source.size - start)) : 0;
  return {
    size,
    read: (at, count) => (isInside(at, size) ? source.read(start + at, Math.min(count, size - at)) : none),
  };
}

/** Exactly `length` bytes, or null where the source does not have them. */
export function readExactly(source: ByteSource, at: number, length: number): Uint8Array | null {
  if (!isInside(at, source.size) || length > source.size - at) return null;
  const bytes = source.read(at, length);
  return bytes.length === length ? bytes : null;
}

function isInside(at: number, size: number): boolean {
  return at >= 0 && at < size;
}
