/** Decompresses a layer, or a file in it. */

import { faultOf } from "../../errors.ts";
import { Readable } from "node:stream";
import zlib from "node:zlib";
import { Decompress } from "fzstd";
import { u32 } from "../little-endian.ts";
import { maxFrameHeader, readZstdFrame, rleBlock, type ZstdFrame } from "../zstd-frame.ts";
import { type ChunkReader, type Chunks, createChunkReader } from "./chunks.ts";
import { invalidImage } from "./invalid-image.ts";

export type Compression = "gzip" | "zstd" | null;

export function compressionBy(head: Uint8Array): Compression {
  if (head[0] === 0x1f && head[1] === 0x8b) return "gzip";
  return readZstdFrame(head) !== null || u32(head, 0) === 0xfd2fb528 ? "zstd" : null;
}

/** Decompresses a stream by its first bytes. Throws as {@link decompressed}. */
export async function* unpacked(chunks: Chunks, name: string): AsyncGenerator<Uint8Array> {
  const reader = createChunkReader(chunks);
  try {
    const head = await reader.take(32);
    yield* decompressed(reader.behind(head), compressionBy(head), name);
  } finally {
    await reader.close();
  }
}

/** Throws `IMAGE_INVALID` for damaged input, which the message calls `name`. */
export async function* decompressed(
  chunks: Chunks,
  compression: Compression,
  name: string,
): AsyncGenerator<Uint8Array> {
  const named = (error: unknown) => invalidImage(`${name}: ${faultOf(error)}`);
  if (compression === null) yield* chunks;
  else if (compression === "gzip") yield* through(chunks, zlib.createGunzip(buffers), named);
  else if (createZstd !== undefined)
    yield* through(pieces(zstdFrames(chunks, name)), createZstd(buffers), named);
  else yield* throughFzstd(chunks, name);
}

/** zlib works in another thread: large buffers keep it busy while their reader is. */
const buffers = { chunkSize: 2 ** 16, readableHighWaterMark: 2 ** 18 };

/** Node has it since 22.15 and 23.8. */
const createZstd = (zlib as { readonly createZstdDecompress?: (options: zlib.ZlibOptions) => zlib.Gunzip })
  .createZstdDecompress;

/** `faultOf` makes the error for damaged input. */
export async function* through(
  chunks: Chunks,
  stream: zlib.Gunzip | zlib.InflateRaw,
  faultOf: (error: unknown) => unknown,
): AsyncGenerator<Uint8Array> {
  let cause: unknown = null;
  // An error of the source is no fault of the compression, and comes behind all that lies before the error.
  const source = async function* () {
    try {
      yield* chunks;
    } catch (error) {
      cause = error;
    }
  };
  // Two chunks never become one.
  const input = Readable.from(source(), { objectMode: true, highWaterMark: 2 });
  input.pipe(stream);
  try {
    for await (const chunk of stream) yield chunk as Uint8Array;
  } catch (error) {
    throw cause ?? faultOf(error);
  } finally {
    input.destroy();
    stream.destroy();
  }
  if (cause !== null) throw cause;
}

/** Each piece is a journey to zlib's thread and back. */
const pieceBytes = 2 ** 16;

/**
 * Joins the blocks of a frame. Node before 26 ends a stream at the end of a frame, unless the frame ends with the bytes that are written at
 * once.
 */
async function* pieces(frames: AsyncIterable<FramePiece>): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let length = 0;
  for await (const { isLast, bytes } of frames) {
    held.push(bytes);
    length += bytes.length;
    if (!isLast && length < pieceBytes) continue;
    yield Buffer.concat(held);
    held = [];
    length = 0;
  }
}

async function* throughFzstd(chunks: Chunks, name: string): AsyncGenerator<Uint8Array> {
  let ready: Uint8Array[] = [];
  let stream: Decompress | null = null;
  for await (const { isFirst, isLast, bytes } of zstdFrames(chunks, name)) {
    if (isFirst) stream = new Decompress((chunk) => ready.push(chunk.slice()));
    try {
      stream?.push(bytes, isLast);
    } catch (error) {
      throw invalidImage(`${name}: ${faultOf(error)}`);
    }
    yield* ready;
    ready = [];
  }
}

interface FramePiece {
  readonly isFirst: boolean;
  readonly isLast: boolean;
  readonly bytes: Uint8Array;
}

/** `zstd --long` needs 128 MiB. zstd itself refuses to read more without an option. */
const maxWindow = 2 ** 27;

/**
 * Cuts a zstd stream into the blocks of its frames (RFC 8878, 3.1.1): fzstd takes one frame, and allocates what its header claims.
 * Skippable frames are left out.
 */
async function* zstdFrames(chunks: Chunks, name: string): AsyncGenerator<FramePiece> {
  const reader = createChunkReader(chunks);
  try {
    for (;;) {
      const header = await readHeader(reader, name);
      if (header === null) return;
      if (header.frame.skip !== null) {
        for await (const _ of reader.pass(header.frame.skip));
        continue;
      }
      yield { isFirst: true, isLast: false, bytes: header.bytes };
      yield* blocks(reader, header.frame, name);
    }
  } finally {
    await reader.close();
  }
}

async function readHeader(reader: ChunkReader, name: string) {
  const start = await reader.take(5);
  if (start.length === 0) return null;
  // The fifth byte tells the length of the header.
  const known = readZstdFrame(Buffer.concat([start, new Uint8Array(maxFrameHeader)]));
  if (start.length < 5 || known === null) throw invalidImage(`${name}: no zstd frame where one should begin`);
  const bytes = Buffer.concat([start, await reader.take(known.headerSize - start.length)]);
  const frame = readZstdFrame(bytes);
  if (frame === null) throw invalidImage(`${name}: a zstd frame ends in its header`);
  if (frame.window > maxWindow)
    throw invalidImage(
      `${name}: a zstd frame asks for ${frame.window} bytes of memory, more than ${maxWindow}`,
    );
  return { frame, bytes };
}

/** Longest content of a block (RFC 8878, 3.1.1.2.4). */
const maxBlock = 2 ** 17;

async function* blocks(reader: ChunkReader, frame: ZstdFrame, name: string): AsyncGenerator<FramePiece> {
  for (let isLast = false; !isLast; ) {
    const head = await reader.take(3);
    const bits = u32(Buffer.concat([head, new Uint8Array(1)]), 0);
    isLast = (bits & 1) === 1;
    const size = ((bits >> 1) & 3) === rleBlock ? 1 : bits >>> 3;
    if (head.length < 3 || size > maxBlock) throw invalidImage(`${name}: a zstd frame is damaged or cut off`);
    const length = size + (isLast && frame.hasChecksum ? 4 : 0);
    const content = await reader.take(length);
    if (content.length < length) throw invalidImage(`${name}: a zstd frame is cut off`);
    yield { isFirst: false, isLast, bytes: Buffer.concat([head, content]) };
  }
}
