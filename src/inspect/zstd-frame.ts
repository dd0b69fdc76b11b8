/** Reads zstd frames within bounds: a header may claim any amount of memory. Source: RFC 8878, 3.1.1. */

import { decompress } from "fzstd";
import { once } from "../io/collections.ts";
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

/** null if the bytes begin no frame, or its header is cut off. */
export function readZstdFrame(bytes: Uint8Array): ZstdFrame | null {
  const magic = u32(bytes, 0);
  if (magic >>> 4 === 0x184d2a5 && bytes.length >= 8)
    return { headerSize: 8, window: 0, content: null, hasChecksum: false, skip: u32(bytes, 4) };
  if (magic !== 0xfd2fb528) return null;
  const descriptor = bytes[4] ?? 0;
  const isSingle = (descriptor & 0x20) !== 0;
  const dictionary = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const content = [isSingle ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  const contentAt = 5 + (isSingle ? 0 : 1) + dictionary;
  if (contentAt + content > bytes.length || bytes.length < 6) return null;
  const byte = bytes[5] ?? 0;
  const base = 2 ** (10 + (byte >> 3));
  return {
    headerSize: contentAt + content,
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

/** Decompresses the whole frame that begins the input; null without a frame, or for one that is damaged, cut off or has more content. */
export async function decompressZstd(input: Uint8Array, most: number): Promise<Uint8Array | null> {
  const frame = readZstdFrame(input);
  if (frame === null || frame.skip !== null || (frame.content ?? 0) > most) return null;
  const end = endOfZstdFrame((at, length) => input.subarray(at, at + length), frame, input.length);
  if (end === null) return null;
  // The library takes no content for an unknown one.
  const plain = (await decoder()).decode(input.subarray(0, end), frame.content || most);
  // A damaged frame decompresses to nothing.
  return plain.length === (frame.content ?? plain.length) && plain.length > 0 ? plain : null;
}

/** Header of a frame of unknown content with a window of one block (RFC 8878, 3.1.1.1). */
const oneBlock = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3);
/** Longest content of a block (RFC 8878, 3.1.1.2.4). */
const maxBlock = 2 ** 17;

/** Decompresses the first block of the frame that begins the input; null as for {@link decompressZstd}. */
export async function beginningOfZstd(input: Uint8Array): Promise<Uint8Array | null> {
  const frame = readZstdFrame(input);
  if (frame === null || frame.skip !== null) return null;
  const block = Uint8Array.from(input.subarray(frame.headerSize, frame.headerSize + 3 + maxBlock));
  block[0] = (block[0] ?? 0) | 1;
  return decompressZstd(Buffer.concat([oneBlock, block]), maxBlock);
}

/**
 * zstd itself, as WebAssembly, takes a fifth of fzstd's time. fzstd stays for streams of any length, and for bundles of 256 MiB:
 * WebAssembly never gives memory back.
 */
const decoder = once(async () => {
  const { ZSTDDecoder } = await import("zstddec");
  const made = new ZSTDDecoder();
  await made.init();
  return made;
});

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
export function inflateZstd(input: Uint8Array, size: number) {
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
