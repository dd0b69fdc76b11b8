/** zstd frames of GPU code, decompressed as far as somebody needs them. */

import { Decompress } from "fzstd";
import { readZstdFrame } from "../zstd-frame.ts";

/** The largest cubins are some ten million bytes, and a frame of one segment claims its whole content. */
const maxWindow = 64 * 2 ** 20;

/** The first `limit` bytes of one frame, fewer where it holds fewer; null for what is no zstd frame, or a damaged one. */
export function decompressZstd(input: Uint8Array, limit: number): Uint8Array | null {
  const frame = readZstdFrame(input);
  if (frame === null || frame.skip !== null || frame.window > maxWindow) return null;
  const output = new Uint8Array(limit);
  let filled = 0;
  const stream = new Decompress((chunk) => {
    const part = chunk.subarray(0, limit - filled);
    output.set(part, filled);
    filled += part.length;
    if (filled === limit) throw enough;
  });
  try {
    stream.push(input);
  } catch (error) {
    // The library throws whatever its arrays throw on damaged input.
    if (error !== enough) return null;
  }
  return filled === 0 ? null : output.subarray(0, filled);
}

const enough = new Error("enough");
