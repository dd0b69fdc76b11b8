/**
 * Cuts a zstd stream into blocks of its frames (RFC 8878, 3.1.1), for a decompressor that takes one frame and allocates what its
 * header claims. Frames that are to be skipped are.
 */

import { u32 } from "../little-endian.ts";
import { maxFrameHeader, readZstdFrame, type ZstdFrame } from "../zstd-frame.ts";
import { type ChunkReader, type Chunks, createChunkReader } from "./checked.ts";
import { invalidImage } from "./invalid-image.ts";

export interface FramePiece {
  readonly isFirst: boolean;
  readonly isLast: boolean;
  readonly bytes: Uint8Array;
}

/** `zstd --long` writes 128 MiB; what writes more asks its readers to say that they can. */
const maxWindow = 2 ** 27;

export async function* zstdFrames(chunks: Chunks, name: string): AsyncGenerator<FramePiece> {
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

async function readHeader(
  reader: ChunkReader,
  name: string,
): Promise<{ frame: ZstdFrame; bytes: Uint8Array } | null> {
  const start = await reader.take(5);
  if (start.length === 0) return null;
  // The fifth byte says how long the header is; whatever stands in the others is read with the rest.
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

const rleBlock = 1;
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
