/** Holds a stream so that it can be read by place: a small one in memory, a larger one in a temporary file without a name. */

import { randomUUID } from "node:crypto";
import { closeSync, openSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ByteSource, borrowBuffer, fileSource, giveBack, memorySource } from "../byte-source.ts";
import type { Chunks } from "./chunks.ts";

/** Most programs are smaller. */
const inMemory = 2 * 2 ** 20;

/** The largest library seen has 0.8 GB. */
export const maxSpool = 8 * 2 ** 30;

/** null if the stream is too long. The caller closes the file with {@link closeSpooled}. */
export async function spool(chunks: Chunks): Promise<SpooledFile | null> {
  const buffer = borrowBuffer(inMemory);
  const memory = new Uint8Array(buffer);
  let size = 0;
  let descriptor: number | null = null;
  let isHeld = false;
  try {
    for await (const chunk of chunks) {
      if (size + chunk.length > maxSpool) return null;
      if (descriptor === null && size + chunk.length > inMemory) {
        descriptor = unnamedFile();
        writeAll(descriptor, memory.subarray(0, size));
      }
      if (descriptor === null) memory.set(chunk, size);
      else writeAll(descriptor, chunk);
      size += chunk.length;
    }
    isHeld = true;
    return descriptor === null ? { kind: "memory", buffer, size } : { kind: "open", descriptor, size };
  } finally {
    if (!isHeld || descriptor !== null) giveBack(buffer);
    if (!isHeld && descriptor !== null) closeSync(descriptor);
  }
}

/** The system removes it when it is closed, also when the process is killed. */
function unnamedFile(): number {
  const path = join(tmpdir(), `imgmatch-${randomUUID()}`);
  const descriptor = openSync(path, "wx+", 0o600);
  unlinkSync(path);
  return descriptor;
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done);
}

/** A file that can be read by place and handed to another thread. */
export type SpooledFile =
  /** It stands at the beginning of a lent buffer. */
  | { readonly kind: "memory"; readonly buffer: ArrayBuffer; readonly size: number }
  /** Every thread of the process may read it. */
  | { readonly kind: "open"; readonly descriptor: number; readonly size: number };

export function sourceOf(file: SpooledFile): ByteSource {
  return file.kind === "memory"
    ? memorySource(new Uint8Array(file.buffer, 0, file.size))
    : fileSource(file.descriptor, file.size);
}

/** The owner of the file calls this once. */
export function closeSpooled(file: SpooledFile): void {
  if (file.kind === "memory") giveBack(file.buffer);
  else closeSync(file.descriptor);
}
