/** Streams of bytes: read in pieces of any length, compared with a digest, made of a file. */

import { createHash } from "node:crypto";
import type { Digest } from "../../oci/digest.ts";
import type { ByteSource } from "../byte-source.ts";
import { invalidImage } from "./invalid-image.ts";

export type Chunks = AsyncIterable<Uint8Array>;

export type ChunkReader = ReturnType<typeof createChunkReader>;

export function createChunkReader(chunks: Chunks) {
  const iterator = chunks[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array(0);
  /** False at the end of the stream. */
  const fill = async (): Promise<boolean> => {
    while (rest.length === 0) {
      const next = await iterator.next();
      if (next.done === true) return false;
      rest = next.value;
    }
    return true;
  };
  const some = (length: number): Uint8Array => {
    const piece = rest.subarray(0, length);
    rest = rest.subarray(piece.length);
    return piece;
  };
  const next = async (limit: number) => ((await fill()) ? some(limit) : null);
  const pass = async function* (length: number): AsyncGenerator<Uint8Array> {
    for (let left = length; left > 0; ) {
      const piece = await next(left);
      if (piece === null) return;
      left -= piece.length;
      yield piece;
    }
  };
  return {
    /** Exactly so many bytes, fewer at the end of the stream. They are held in memory. */
    async take(length: number): Promise<Uint8Array> {
      if (rest.length >= length) return some(length);
      const pieces: Uint8Array[] = [];
      for (let left = length; left > 0 && (await fill()); ) {
        const piece = some(left);
        left -= piece.length;
        pieces.push(piece);
      }
      return Buffer.concat(pieces);
    },
    /** At most so many bytes; null at the end. */
    next,
    /** So many bytes, in the pieces that arrive. */
    pass,
    /** The whole stream again: the bytes that were taken, and the rest. */
    async *behind(taken: Uint8Array): AsyncGenerator<Uint8Array> {
      yield taken;
      yield* pass(Number.POSITIVE_INFINITY);
    },
    /** Ends the stream early. */
    async close() {
      await iterator.return?.();
    },
  };
}

const chunkBytes = 2 ** 20;

export async function* chunksOf(
  source: ByteSource,
  start = 0,
  length = source.size,
): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < length; at += chunkBytes) {
    const bytes = source.read(start + at, Math.min(chunkBytes, length - at));
    if (bytes.length === 0) return;
    yield bytes;
  }
}

/** The most bytes behind an archive: padding, and the table of contents of zstd:chunked, which has some megabytes. */
const mostBehind = 256 * 2 ** 20;

/** `onBytes` gets the length of every piece. */
export async function* countedChunks(
  chunks: Chunks,
  onBytes: (count: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    onBytes(chunk.length);
    yield chunk;
  }
}

/** A stream whose digest is compared at its end; null compares nothing. */
export function checked(chunks: Chunks, digest: Digest | null, name: string) {
  const hash = digest === null ? null : createHash("sha256");
  const iterator = chunks[Symbol.asyncIterator]();
  const next = async () => {
    const result = await iterator.next();
    if (result.done !== true) hash?.update(result.value);
    return result;
  };
  return {
    // A reader that stops early must not close the source: the rest is part of the digest.
    chunks: { [Symbol.asyncIterator]: () => ({ next }) },
    /** Reads the rest. Throws `IMAGE_INVALID` for another digest. */
    async finish() {
      let behind = 0;
      for (let rest = await next(); rest.done !== true; rest = await next()) {
        behind += rest.value.length;
        if (behind > mostBehind)
          throw invalidImage(`${name}: more than ${mostBehind} bytes lie behind the end of its archive`);
      }
      if (hash === null) return;
      const actual = `sha256:${hash.digest("hex")}`;
      if (actual !== digest)
        throw invalidImage(`${name}: its bytes have the digest ${actual}, not ${digest}`);
    },
    async close() {
      await iterator.return?.();
    },
  };
}
