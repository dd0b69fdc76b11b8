/** Reads bytes by their place, of a file on the disk or in memory: no file is held whole. */

import { readSync } from "node:fs";

export interface ByteSource {
  readonly size: number;
  /** At most `length` bytes from `at` on; fewer at the end of the source, none outside it. */
  read(at: number, length: number): Uint8Array;
  /** As many bytes as the buffer holds. The bytes may stand in the buffer: the next use of the buffer overwrites the bytes. */
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

/** An open file; the caller closes it. */
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

/** A part of a source. It ends no later than the whole. */
export function partOf(source: ByteSource, start: number, length: number): ByteSource {
  const size = isInside(start, source.size) ? Math.max(0, Math.min(length, source.size - start)) : 0;
  return {
    size,
    read: (at, count) => (isInside(at, size) ? source.read(start + at, Math.min(count, size - at)) : none),
    readOver: (at, buffer) =>
      isInside(at, size) ? source.readOver(start + at, buffer.subarray(0, size - at)) : none,
  };
}

/** Exactly `length` bytes; null if the source does not have them. */
export function readExactly(source: ByteSource, at: number, length: number): Uint8Array | null {
  if (!isInside(at, source.size) || length > source.size - at) return null;
  const bytes = source.read(at, length);
  return bytes.length === length ? bytes : null;
}

function isInside(at: number, size: number): boolean {
  return at >= 0 && at < size;
}

/** Readers go through a file in windows of this length, and all readers share a buffer. */
export const windowBytes = 2 ** 20;

const free: ArrayBuffer[] = [];

/** More buffers are rarely in use at once. */
const maxFree = 4;

/** Its old content is still in it. */
export function borrowBuffer(length: number): ArrayBuffer {
  const index = free.findIndex(({ byteLength }) => byteLength === length);
  return index === -1 ? new ArrayBuffer(length) : (free.splice(index, 1)[0] ?? new ArrayBuffer(length));
}

export function giveBack(buffer: ArrayBuffer): void {
  if (free.length < maxFree) free.push(buffer);
}

/** Lends a buffer of {@link windowBytes} until `use` ends. */
export function withWindow<Result>(use: (window: Uint8Array) => Result): Result {
  const buffer = borrowBuffer(windowBytes);
  try {
    return use(new Uint8Array(buffer));
  } finally {
    giveBack(buffer);
  }
}

export async function withWindowAsync<Result>(use: (window: Uint8Array) => Promise<Result>): Promise<Result> {
  const buffer = borrowBuffer(windowBytes);
  try {
    return await use(new Uint8Array(buffer));
  } finally {
    giveBack(buffer);
  }
}

const fewBytes = 2 ** 20;
const mappedBytes = 2 ** 25 + 8;

/**
 * Zeroed memory that goes back to the system with its last use. glibc keeps freed memory for later, but maps what is longer than 32 MiB
 * (DEFAULT_MMAP_THRESHOLD_MAX, mallopt(3)). Pages that nobody writes to take no memory.
 */
export function ownPages(length: number): ArrayBuffer {
  return new ArrayBuffer(length <= fewBytes ? length : Math.max(length, mappedBytes));
}

/** Gives the memory of long bytes back now, and not with the next collection. Never the whole of a source in memory. */
export function release({ buffer, byteLength }: Uint8Array): void {
  if (byteLength > fewBytes && byteLength === buffer.byteLength && buffer instanceof ArrayBuffer)
    structuredClone(null, { transfer: [buffer] });
}

const stepBytes = 2 ** 16;
const zeros = Buffer.alloc(stepBytes);

/** The length between the first and the last byte that is no zero: zeros only fill a page up. */
export function withoutZeros(source: ByteSource, start: number, end: number): number {
  const windowAt = (from: number, to: number) => source.read(from, Math.min(stepBytes, to - from));
  const isZero = (bytes: Uint8Array) => zeros.subarray(0, bytes.length).equals(bytes);
  let first = start;
  while (first < end && isZero(windowAt(first, end))) first += stepBytes;
  if (first >= end) return 0;
  first += windowAt(first, end).findIndex((byte) => byte !== 0);
  let last = end;
  while (last > first) {
    const from = Math.max(first, last - stepBytes);
    const bytes = windowAt(from, last);
    if (!isZero(bytes)) return from + bytes.findLastIndex((byte) => byte !== 0) + 1 - first;
    last = from;
  }
  return 0;
}
