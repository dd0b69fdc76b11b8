/** A stream of chunks, read in pieces of wished lengths. */

export type Chunks = AsyncIterable<Uint8Array>;

export interface ChunkReader {
  /** Exactly so many bytes; fewer where the stream ends. For short pieces: they are held in memory. */
  take(length: number): Promise<Uint8Array>;
  /** What comes next, at most so many bytes; null at the end. */
  next(limit: number): Promise<Uint8Array | null>;
  /** So many bytes as they come. */
  pass(length: number): AsyncGenerator<Uint8Array>;
  /** What was taken, and all that comes behind it. */
  behind(taken: Uint8Array): AsyncGenerator<Uint8Array>;
  /** Lets the stream go before its end. */
  close(): Promise<void>;
}

export function createChunkReader(chunks: Chunks): ChunkReader {
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
    async take(length) {
      if (rest.length >= length) return some(length);
      const pieces: Uint8Array[] = [];
      for (let left = length; left > 0 && (await fill()); ) {
        const piece = some(left);
        left -= piece.length;
        pieces.push(piece);
      }
      return Buffer.concat(pieces);
    },
    next,
    pass,
    async *behind(taken) {
      yield taken;
      yield* pass(Number.POSITIVE_INFINITY);
    },
    async close() {
      await iterator.return?.();
    },
  };
}
