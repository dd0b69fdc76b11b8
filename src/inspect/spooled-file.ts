/** A file that lies where it can be read by place, and can be handed to another thread: in memory, or open on the disk. */

import { closeSync } from "node:fs";
import { type ByteSource, fileSource, memorySource } from "./byte-source.ts";
import { giveBack } from "./lent-buffers.ts";

export type SpooledFile =
  /** At the beginning of a lent buffer. */
  | { readonly kind: "memory"; readonly buffer: ArrayBuffer; readonly size: number }
  /** Every thread of the process may read it. */
  | { readonly kind: "open"; readonly descriptor: number; readonly size: number };

export function sourceOf(file: SpooledFile): ByteSource {
  return file.kind === "memory"
    ? memorySource(new Uint8Array(file.buffer, 0, file.size))
    : fileSource(file.descriptor, file.size);
}

/** Must be done once with each that nobody else took over. */
export function closeSpooled(file: SpooledFile): void {
  if (file.kind === "memory") giveBack(file.buffer);
  else closeSync(file.descriptor);
}
