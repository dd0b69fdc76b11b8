/** Bounds what archives unpack to: of one file, and of all files of a layer. */

import { ImgmatchError } from "../../errors.ts";
import type { Chunks } from "./chunks.ts";
import type { ContentSink } from "./opened-file.ts";

/** The bytes to which all archives of one layer together may still unpack. */
export interface ArchiveBudget {
  left: number;
  /** Bytes of the names in them. */
  names: number;
}

export function archiveBudget(): ArchiveBudget {
  return { left: maxArchives, names: maxNames };
}

const maxArchives = 16 * 2 ** 30;
const maxNames = 64 * 2 ** 20;
/** Programs shrink to a third, logs to a twentieth. zlib reaches 1:1032 at most (zlib's technical details). */
const maxRatio = 200;
/** So much may always be unpacked: small archives of zeros do no harm. */
const freeBytes = 256 * 2 ** 20;

/** One file of the layer, with all archives in it. */
export interface Opening {
  readonly sink: ContentSink;
  readonly layer: ArchiveBudget;
  /** Bytes that were read of the file. */
  packed: number;
  /** Bytes that they unpacked to. */
  unpacked: number;
}

/** Counts what an archive unpacks to, and throws {@link ArchiveBomb} beyond the bounds. */
export async function* within(opening: Opening, chunks: Chunks): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    opening.unpacked += chunk.length;
    opening.layer.left -= chunk.length;
    if (opening.unpacked > freeBytes + maxRatio * opening.packed)
      throw new ArchiveBomb(`unpacks to more than ${maxRatio} times its size`);
    if (opening.layer.left < 0)
      throw new ArchiveBomb(`the archives of its layer unpack to more than ${maxArchives} bytes`);
    yield chunk;
  }
}

/** Names of entries that are not opened count too: they are reported. */
export function countName({ layer }: Opening, name: string): void {
  layer.names -= name.length;
  if (layer.names < 0)
    throw new ArchiveBomb(`the names in archives of its layer have more than ${maxNames} bytes`);
}

export class ArchiveBomb extends Error {
  override readonly name = "ArchiveBomb";
}

/** A fault of the content, and not of the disk or the registry. */
export function isDamage(error: unknown): error is Error {
  if (error instanceof ImgmatchError) return error.code === "IMAGE_INVALID";
  if (error instanceof ArchiveBomb) return true;
  const code = error instanceof Error && "code" in error ? error.code : null;
  return typeof code === "string" && /^(Z_|ERR_ZSTD|ZSTD_)/.test(code);
}
