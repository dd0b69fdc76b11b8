/** zstd frames of GPU code, decompressed as far as somebody needs them. */

import { Decompress } from "fzstd";
import type { ByteSource } from "../byte-source.ts";
import { endOfZstdFrame, maxFrameHeader, readZstdFrame } from "../zstd-frame.ts";

/** The largest cubins are some ten million bytes, and a frame of one segment claims its whole content. */
const maxWindow = 64 * 2 ** 20;

/** The first `most` bytes of the frame that begins the input, fewer where it holds fewer; null for what is no zstd frame, or a damaged one. */
export function decompressZstd(input: Uint8Array, most: number): Uint8Array | null {
  const frame = readZstdFrame(input);
  if (frame === null || frame.skip !== null || frame.window > maxWindow) return null;
  const limit = Math.min(most, frame.content || most);
  // The library takes what stands behind for another frame.
  const end = endOfZstdFrame((at, length) => input.subarray(at, at + length), frame, input.length);
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

/** Of the frame that begins at a place, what `most` bytes of content can take, and nothing behind it: a library has thousands. */
export function readZstdBytes(source: ByteSource, at: number, most: number): Uint8Array {
  const frame = readZstdFrame(source.read(at, maxFrameHeader));
  // Blocks that cannot be compressed stand as they are, 128 KiB behind three bytes (`ZSTD_COMPRESSBOUND`, zstd.h).
  const bound = most + (most >> 8) + 512;
  const end = frame && endOfZstdFrame((from, length) => source.read(at + from, length), frame, bound);
  return source.read(at, end ?? bound);
}

const enough = new Error("enough");
