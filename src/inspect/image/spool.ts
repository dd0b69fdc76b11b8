/** A stream as something to read by place: in memory while it is small, else in a temporary file without a name. */

import { closeSync, openSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { type ByteSource, fileSource, memorySource } from "../byte-source.ts";
import type { Chunks } from "./chunk-reader.ts";

const inMemory = 16 * 2 ** 20;
/** The largest library seen has 0.8 GB. */
export const maxSpool = 8 * 2 ** 30;

/** null where the stream is longer than any file that would be opened. */
export async function withSpooled<Result>(
  chunks: Chunks,
  use: (source: ByteSource) => Promise<Result>,
): Promise<Result | null> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  let descriptor: number | null = null;
  try {
    for await (const chunk of chunks) {
      if (size + chunk.length > maxSpool) return null;
      if (descriptor === null && size + chunk.length > inMemory) {
        descriptor = unnamedFile();
        for (const piece of pieces.splice(0)) writeAll(descriptor, piece);
      }
      if (descriptor === null) pieces.push(chunk);
      else writeAll(descriptor, chunk);
      size += chunk.length;
    }
    return await use(
      descriptor === null ? memorySource(Buffer.concat(pieces)) : fileSource(descriptor, size),
    );
  } finally {
    if (descriptor !== null) closeSync(descriptor);
  }
}

/** Gone as soon as it is closed, also when the process is killed. */
function unnamedFile(): number {
  const path = join(tmpdir(), `imgmatch-${randomUUID()}`);
  const descriptor = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  return descriptor;
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done);
}
