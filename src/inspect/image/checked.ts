/** Bytes whose digest is compared when they are over: what was found in others is not told. */

import { createHash } from "node:crypto";
import type { Digest } from "../../oci/digest.ts";
import type { Chunks } from "./chunk-reader.ts";
import { invalidImage } from "./invalid-image.ts";

/** Padding, and tables of contents: zstd:chunked has some megabytes of one. */
const mostBehind = 256 * 2 ** 20;

export interface CheckedChunks {
  readonly chunks: Chunks;
  /** Reads what is left. Throws `IMAGE_INVALID` when the bytes are not those of the digest. */
  finish(): Promise<void>;
  /** Lets the source go, wherever it is. */
  close(): Promise<void>;
}

/** Without a digest there is nothing to compare. */
export function checked(chunks: Chunks, digest: Digest | null, name: string): CheckedChunks {
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
