/** Reads the header of one piece of GPU code, which has 64 bytes. Sources: `fatbin.ts`. */

import { u16, u32, u64 } from "../little-endian.ts";

/** Bytes of a header without options. */
export const entryHeader = 64;

export type FatbinKind = "ptx" | "cubin" | "lto" | "unknown";
export type FatbinCompression = "none" | "lz4" | "zstd" | "zlib" | "unknown";

export interface FatbinEntry {
  readonly kind: FatbinKind;
  /** The kind's number, which an unknown kind has too. */
  readonly rawKind: number;
  /** 90 for `sm_90` and `compute_90`. */
  readonly arch: number;
  readonly suffix: "" | "a" | "f";
  /** The PTX ISA; of machine code 1.7 or 1.8, the two formats of a cubin. */
  readonly version: { readonly major: number; readonly minor: number };
  readonly compression: FatbinCompression;
  readonly isDebug: boolean;
  /** The place of the payload, compressed or not; null inside a concatenated entry. */
  readonly payload: { readonly at: number; readonly size: number } | null;
  /** The place of header and payload; absent inside a concatenated entry. */
  readonly whole?: { readonly at: number; readonly size: number };
}

export const entryKind = { ptx: 1, cubin: 2, oldCubin: 4, lto: 8, concatenated: 0x100 } as const;

const kinds: Readonly<Record<number, FatbinKind>> = {
  [entryKind.ptx]: "ptx",
  [entryKind.cubin]: "cubin",
  [entryKind.oldCubin]: "cubin",
  [entryKind.lto]: "lto",
};

const flag = { debug: 0x2, zlib: 0x1000, lz4: 0x2000, zstd: 0x8000, specific: 0x10_0000, family: 0x20_0000 };

export function readEntry(
  bytes: Uint8Array,
  at: number,
  payload: { at: number; size: number } | null,
): FatbinEntry {
  const rawKind = u16(bytes, at);
  const flags = u64(bytes, at + 40);
  const compressedSize = u32(bytes, at + 16);
  return {
    kind: kinds[rawKind] ?? "unknown",
    rawKind,
    arch: u32(bytes, at + 28),
    suffix: has(flags, flag.specific) ? "a" : has(flags, flag.family) ? "f" : "",
    version: { major: u16(bytes, at + 26), minor: u16(bytes, at + 24) },
    compression: compressionOf(flags, compressedSize),
    isDebug: has(flags, flag.debug),
    // The size counts padding to 8 bytes; the compressed size does not.
    payload: payload && { at: payload.at, size: Math.min(payload.size, compressedSize || payload.size) },
  };
}

export function compressionOf(flags: number, compressedSize: number): FatbinCompression {
  if (has(flags, flag.zstd)) return "zstd";
  if (has(flags, flag.lz4)) return "lz4";
  if (has(flags, flag.zlib)) return "zlib";
  return compressedSize === 0 ? "none" : "unknown";
}

/** JavaScript's operators see 32 of the 64 bits: all known flags are among them. */
function has(flags: number, bit: number): boolean {
  return ((flags % 2 ** 32) & bit) !== 0;
}
