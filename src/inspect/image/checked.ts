/** Bytes whose digest is compared when they are over: what was found in others is not told. */

import { createHash } from "node:crypto";
import type { Digest } from "../../oci/digest.ts";
import { invalidImage } from "./invalid-image.ts";

/** Padding, and tables of contents: zstd:chunked has some megabytes of one. */
const mostBehind = 256 * 2 ** 20;

/** Without a digest there is nothing to compare. */
export function checked(chunks: Chunks, digest: Digest | null, name: string) {
  const hash = digest === null ? null : createHash("sha256");
  const iterator = chunks[Symbol.asyncIterator]();
  const next = async () => {
    const result = await iterator.next();
    if (result.done !== true) hash?.update(result.value);
    return result;
  };
  return {
    // Leaving it early must not close the source: the rest is part of the digest.
    chunks: { [Symbol.asyncIterator]: () => ({ next }) },
    /** Reads what is left. Throws `IMAGE_INVALID` when the bytes are not those of the digest. */
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

/** A stream of chunks, read in pieces of wished lengths. */
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
    /** Exactly so many bytes; fewer where the stream ends. For short pieces: they are held in memory. */
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
    /** The next bytes, at most so many; null at the end. */
    next,
    /** So many bytes as they come. */
    pass,
    /** The bytes that were taken, and all that come behind them. */
    async *behind(taken: Uint8Array): AsyncGenerator<Uint8Array> {
      yield taken;
      yield* pass(Number.POSITIVE_INFINITY);
    },
    /** Lets the stream go before its end. */
    async close() {
      await iterator.return?.();
    },
  };
}
