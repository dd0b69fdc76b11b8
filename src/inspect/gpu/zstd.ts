/** zstd frames of GPU code, decompressed as far as somebody needs them. */

import { Decompress } from "fzstd";
import { endOfZstdFrame, readZstdFrame } from "../zstd-frame.ts";

/** The largest cubins are some ten million bytes, and a frame of one segment claims its whole content. */
const maxWindow = 64 * 2 ** 20;

/** The first `most` bytes of the frame that begins the input, fewer where it holds fewer; null for what is no zstd frame, or a damaged one. */
export function decompressZstd(input: Uint8Array, most: number): Uint8Array | null {
  const frame = readZstdFrame(input);
  if (frame === null || frame.skip !== null || frame.window > maxWindow) return null;
  const limit = Math.min(most, frame.content || most);
  // The library takes what stands behind for another frame.
  const end = endOfZstdFrame(input, frame);
  const output = new Uint8Array(limit);
  let filled = 0;
  const stream = new Decompress((chunk) => {
    const part = chunk.subarray(0, limit - filled);
    output.set(part, filled);
    filled += part.length;
    if (filled === limit) throw enough;
  });
  try {
    stream.push(input.subarray(0, end ?? input.length), end !== null);
  } catch (error) {
    // The library throws whatever its arrays throw on damaged input.
    if (error !== enough) return null;
  }
  return filled === 0 ? null : output.subarray(0, filled);
}

const enough = new Error("enough");
