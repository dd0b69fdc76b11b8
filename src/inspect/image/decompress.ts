/** Undoes the compression of a layer or of a file in it, by its first bytes. */

import { Readable } from "node:stream";
import zlib from "node:zlib";
import { Decompress } from "fzstd";
import { u32 } from "../little-endian.ts";
import { readZstdFrame } from "../zstd-frame.ts";
import { type Chunks, createChunkReader } from "./checked.ts";
import { invalidImage } from "./invalid-image.ts";
import { zstdFrames } from "./zstd-frames.ts";

export type Compression = "gzip" | "zstd" | null;

export function compressionBy(head: Uint8Array): Compression {
  if (head[0] === 0x1f && head[1] === 0x8b) return "gzip";
  return readZstdFrame(head) !== null || u32(head, 0) === 0xfd2fb528 ? "zstd" : null;
}

/** Decompresses by the compression that the first bytes tell. Throws as {@link decompressed}. */
export async function* unpacked(chunks: Chunks, name: string): AsyncGenerator<Uint8Array> {
  const reader = createChunkReader(chunks);
  try {
    const head = await reader.take(32);
    yield* decompressed(reader.behind(head), compressionBy(head), name);
  } finally {
    await reader.close();
  }
}

/** Throws `IMAGE_INVALID` for damaged input; `name` is what the message calls it. */
export async function* decompressed(
  chunks: Chunks,
  compression: Compression,
  name: string,
): AsyncGenerator<Uint8Array> {
  if (compression === null) yield* chunks;
  else if (compression === "gzip") yield* throughStream(chunks, zlib.createGunzip(buffers), name);
  else if (createZstd !== undefined) yield* throughStream(chunks, createZstd(buffers), name);
  else yield* throughFzstd(chunks, name);
}

/** Each turn of the decompressor is a task for another thread, and it goes on while what came before is read. */
const buffers = { chunkSize: 2 ** 16, readableHighWaterMark: 2 ** 18 };

/** From Node 22.15 and 23.8 on. */
const createZstd = (zlib as { readonly createZstdDecompress?: (options: zlib.ZlibOptions) => zlib.Gunzip })
  .createZstdDecompress;

async function* throughStream(chunks: Chunks, stream: zlib.Gunzip, name: string): AsyncGenerator<Uint8Array> {
  const input = Readable.from(chunks, { objectMode: false, highWaterMark: 2 ** 18 });
  let cause: unknown = null;
  // An error of the source goes on as it is, not as one of the compression.
  input.on("error", (error) => {
    cause = error;
    stream.destroy(error);
  });
  input.pipe(stream);
  try {
    for await (const chunk of stream) yield chunk as Uint8Array;
  } catch (error) {
    if (cause !== null) throw cause;
    throw invalidImage(`${name}: ${error instanceof Error ? error.message : error}`);
  } finally {
    input.destroy();
    stream.destroy();
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
      throw invalidImage(`${name}: ${error instanceof Error ? error.message : error}`);
    }
    yield* ready;
    ready = [];
  }
}
