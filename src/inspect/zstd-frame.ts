/** Reads zstd frames within bounds: a header may claim any amount of memory. Source: RFC 8878, 3.1.1. */

import { Decompress, decompress } from "fzstd";
import type { ByteSource } from "./byte-source.ts";
import { u16, u32, u64 } from "./little-endian.ts";

export interface ZstdFrame {
  readonly headerSize: number;
  /** Bytes that a decompressor allocates at once; 0 for a skippable frame. */
  readonly window: number;
  /** Bytes of its content; null if the header does not tell. */
  readonly content: number | null;
  readonly hasChecksum: boolean;
  /** Length of a skippable frame, which holds no data; null for any other. */
  readonly skip: number | null;
}

/** Length of the longest header. */
export const maxFrameHeader = 18;

/** null if no frame begins there, or its header is cut off. */
export function readZstdFrame(bytes: Uint8Array, at = 0): ZstdFrame | null {
  const magic = u32(bytes, at);
  if (magic >>> 4 === 0x184d2a5 && bytes.length >= at + 8)
    return { headerSize: 8, window: 0, content: null, hasChecksum: false, skip: u32(bytes, at + 4) };
  if (magic !== 0xfd2fb528) return null;
  const descriptor = bytes[at + 4] ?? 0;
  const isSingle = (descriptor & 0x20) !== 0;
  const dictionary = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const content = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  const contentAt = at + 5 + (isSingle ? 0 : 1) + dictionary;
  if (contentAt + content > bytes.length || at + 6 > bytes.length) return null;
  const byte = bytes[at + 5] ?? 0;
  const base = 2 ** (10 + (byte >> 3));
  return {
    headerSize: contentAt + content - at,
    window: isSingle ? contentSize(bytes, contentAt, content) : base + (base / 8) * (byte & 7),
    content: content === 0 ? null : contentSize(bytes, contentAt, content),
    hasChecksum: (descriptor & 4) !== 0,
    skip: null,
  };
}

export const rleBlock = 1;

/**
 * Length of a frame with its last block and its checksum (RFC 8878, 3.1.1.2); null if it is longer than `most`. `read` reads bytes of the
 * frame.
 */
function endOfZstdFrame(
  read: (at: number, length: number) => Uint8Array,
  frame: ZstdFrame,
  most: number,
): number | null {
  for (let at = frame.headerSize; at + 3 <= most; ) {
    const bytes = read(at, 3);
    if (bytes.length < 3) return null;
    const head = u16(bytes, 0) | ((bytes[2] ?? 0) << 16);
    at += 3 + (((head >> 1) & 3) === rleBlock ? 1 : head >>> 3);
    if ((head & 1) === 0) continue;
    const end = at + (frame.hasChecksum ? 4 : 0);
    return end <= most ? end : null;
  }
  return null;
}

function contentSize(bytes: Uint8Array, at: number, length: number): number {
  if (length === 1) return bytes[at] ?? 0;
  if (length === 2) return u16(bytes, at) + 256;
  return length === 4 ? u32(bytes, at) : u64(bytes, at);
}

/** The largest cubins have some ten million bytes, and a frame of one segment claims its whole content. */
const maxWindow = 64 * 2 ** 20;

/** Decompresses at most `most` bytes of the frame that begins the input; null without a frame, or for a damaged one. */
export function decompressZstd(input: Uint8Array, most: number): Uint8Array | null {
  const frame = readZstdFrame(input);
  if (frame === null || frame.skip !== null || frame.window > maxWindow) return null;
  const limit = Math.min(most, frame.content || most);
  // The library takes bytes behind the frame for another one.
  const end = endOfZstdFrame((at, length) => input.subarray(at, at + length), frame, input.length);
  if (frame.content === limit && end !== null) return wholeFrame(input.subarray(0, end), limit);
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

/** In one go: the library's stream moves its whole window for each block. null for a damaged frame. */
function wholeFrame(input: Uint8Array, size: number): Uint8Array | null {
  const output = new Uint8Array(size);
  // The library compares the array with 1, which makes a text of all its bytes: most of the time of a large frame (fzstd 0.1.1, rzfh).
  Object.defineProperty(output, Symbol.toPrimitive, { value: () => Number.NaN });
  try {
    return decompress(input, output);
  } catch {
    // The library throws whatever its arrays throw on damaged input.
    return null;
  }
}

/** A frame of many small blocks costs much time: blocks of clang's bundles hold 43 KB and more. */
const smallBlocks = 64;
const bytesPerBlock = 4096;

/**
 * Decompresses the whole frame that begins the input, and tells its length. null if it does not hold exactly `size` bytes. It takes no
 * memory but for these, however large the frame's window is.
 */
export function inflateZstd(
  input: Uint8Array,
  size: number,
): { readonly plain: Uint8Array; readonly used: number } | null {
  const frame = readZstdFrame(input);
  if (frame === null || frame.skip !== null || (frame.content ?? size) !== size) return null;
  let blocks = 0;
  const read = (at: number, length: number) => {
    blocks++;
    return input.subarray(at, at + length);
  };
  const used = endOfZstdFrame(read, frame, input.length);
  if (used === null || blocks > smallBlocks + size / bytesPerBlock) return null;
  const plain = wholeFrame(input.subarray(0, used), size);
  return plain && { plain, used };
}

/** Reads as much of the frame at a place as `most` bytes of content may take, and nothing behind the frame. */
export function readZstdBytes(source: ByteSource, at: number, most: number): Uint8Array {
  const frame = readZstdFrame(source.read(at, maxFrameHeader));
  // Blocks that cannot be compressed stand as they are, 128 KiB behind three bytes (`ZSTD_COMPRESSBOUND`, zstd.h).
  const bound = most + (most >> 8) + 512;
  const end = frame && endOfZstdFrame((from, length) => source.read(at + from, length), frame, bound);
  return source.read(at, end ?? bound);
}

const enough = new Error("enough");
