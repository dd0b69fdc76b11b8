/** Bytes that are read by place: of a file on the disk or in memory, so that no file has to be held whole. */

import { readSync } from "node:fs";

export interface ByteSource {
  readonly size: number;
  /** At most `length` bytes from `at` on; fewer where the source ends, none outside it. They stay as they are. */
  read(at: number, length: number): Uint8Array;
  /** As many as the buffer has, and perhaps in it, so that they are gone with its next use. For who goes through a file in pieces. */
  readOver(at: number, buffer: Uint8Array): Uint8Array;
}

const none = new Uint8Array(0);

export function memorySource(bytes: Uint8Array): ByteSource {
  const read = (at: number, length: number) =>
    isInside(at, bytes.length) ? bytes.subarray(at, at + length) : none;
  return {
    size: bytes.length,
    read,
    readOver: (at, buffer) => read(at, buffer.length),
  };
}

/** An open file; whoever opened it closes it. */
export function fileSource(descriptor: number, size: number): ByteSource {
  const fill = (at: number, bytes: Uint8Array) => {
    let filled = 0;
    while (filled < bytes.length) {
      const count = readSync(descriptor, bytes, filled, bytes.length - filled, at + filled);
      if (count === 0) break;
      filled += count;
    }
    return bytes.subarray(0, filled);
  };
  return {
    size,
    read: (at, length) =>
      isInside(at, size) ? fill(at, Buffer.allocUnsafe(Math.min(length, size - at))) : none,
    readOver: (at, buffer) => (isInside(at, size) ? fill(at, buffer.subarray(0, size - at)) : none),
  };
}

/** A part of a source, as a source that is cut where the whole ends. */
export function partOf(source: ByteSource, start: number, length: number): ByteSource {
  const size = isInside(start, source.size) ? Math.max(0, Math.min(length, source.size - start)) : 0;
  return {
    size,
    read: (at, count) => (isInside(at, size) ? source.read(start + at, Math.min(count, size - at)) : none),
    readOver: (at, buffer) =>
      isInside(at, size) ? source.readOver(start + at, buffer.subarray(0, size - at)) : none,
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

/** The bytes that are read of a file at once. All readers take this length, so that a buffer serves one after the other. */
export const windowBytes = 2 ** 20;

const free: ArrayBuffer[] = [];

/** More at once are rare; what is given back beyond it is let go. */
const maxFree = 4;

/** With whatever was in it before. */
export function borrowBuffer(length: number): ArrayBuffer {
  const index = free.findIndex(({ byteLength }) => byteLength === length);
  return index === -1 ? new ArrayBuffer(length) : (free.splice(index, 1)[0] ?? new ArrayBuffer(length));
}

export function giveBack(buffer: ArrayBuffer): void {
  if (free.length < maxFree) free.push(buffer);
}

/** A buffer for as long as something is done with it. */
export async function withBuffer<Result>(
  length: number,
  use: (buffer: Uint8Array) => Promise<Result>,
): Promise<Result> {
  const buffer = borrowBuffer(length);
  try {
    return await use(new Uint8Array(buffer));
  } finally {
    giveBack(buffer);
  }
}
