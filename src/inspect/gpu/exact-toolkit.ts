/** The toolkit of machine code, from its payload: headers of a container tell a range only. */

import { type ByteSource, memorySource, partOf } from "../byte-source.ts";
import { readCubin, readCubinHeader } from "./cubin.ts";
import type { FatbinEntry } from "./fatbin-entry.ts";
import { decompressLz4 } from "./lz4.ts";
import { decompressZstd } from "../zstd-frame.ts";

/** How many payloads of a file may still be decompressed. */
export interface Samples {
  left: number;
}

/** Enough for most modules; the notes of a larger one are not worth its decompression. */
const maxSample = 4 * 2 ** 20;

export function exactToolkits(
  source: ByteSource,
  entries: readonly FatbinEntry[],
  samples: Samples,
): readonly (FatbinEntry & { readonly exact: string | null })[] {
  return entries.map((entry) => ({ ...entry, exact: exactToolkit(source, entry, samples) }));
}

function exactToolkit(source: ByteSource, entry: FatbinEntry, samples: Samples): string | null {
  if (entry.kind !== "cubin" || entry.payload === null) return null;
  const payload = partOf(source, entry.payload.at, entry.payload.size);
  if (entry.compression === "none") return readCubin(payload)?.toolkit ?? null;
  if (entry.compression === "lz4") {
    const header = decompressLz4(payload.read(0, 512), 64);
    const toolkit = header === null ? null : (readCubinHeader(header)?.toolkit ?? null);
    if (toolkit !== null) return toolkit;
  }
  if (samples.left === 0 || payload.size > maxSample) return null;
  samples.left--;
  const whole = decompress(entry, payload.read(0, payload.size));
  return whole === null ? null : (readCubin(memorySource(whole))?.toolkit ?? null);
}

function decompress(entry: FatbinEntry, bytes: Uint8Array): Uint8Array | null {
  if (entry.compression === "lz4") return decompressLz4(bytes, maxSample);
  return entry.compression === "zstd" ? decompressZstd(bytes, maxSample) : null;
}
