/**
 * NVIDIA's container of GPU code. Layout: fatbinary.h of CUDA 10 and earlier (magic, headers, offsets), RWTH-ACS/cricket
 * `cpu-elf2.c` and vosen/ZLUDA (flags and compression); the bits of `a` and `f` and concatenated entries are measured against
 * cuobjdump 13.5. Only headers are read.
 */

import { type ByteSource, readExactly } from "../byte-source.ts";
import { u16, u32, u64 } from "../little-endian.ts";
import { readConcatenated } from "./concatenated.ts";

export interface FatbinContainer {
  readonly at: number;
  /** With its header. */
  readonly size: number;
  readonly entries: readonly FatbinEntry[];
  /** What could not be read of it. */
  readonly damage: readonly string[];
}

export type FatbinKind = "ptx" | "cubin" | "lto" | "unknown";
export type FatbinCompression = "none" | "lz4" | "zstd" | "zlib" | "unknown";

export interface FatbinEntry {
  readonly kind: FatbinKind;
  /** The number of the kind: `unknown` is never the same as absent. */
  readonly rawKind: number;
  /** 90 for `sm_90` and `compute_90`. */
  readonly arch: number;
  readonly suffix: "" | "a" | "f";
  /** PTX: the PTX ISA. Machine code: 1.7 and 1.8 are the two formats of a cubin. */
  readonly version: { readonly major: number; readonly minor: number };
  readonly compression: FatbinCompression;
  readonly isDebug: boolean;
  /** Where the payload stands, compressed or not; null inside a concatenated entry. */
  readonly payload: { readonly at: number; readonly size: number } | null;
}

/** Header of a container, first 8 bytes: magic 0xBA55ED50, version 1, header of 16 bytes. */
export const containerMagic = Uint8Array.of(0x50, 0xed, 0x55, 0xba, 0x01, 0x00, 0x10, 0x00);
const containerHeader = 16;
const entryHeader = 64;
/** The largest seen is 312; the options of ptxas are a line of text. */
const maxEntryHeader = 2 ** 16;
const maxEntries = 2 ** 16;

export const entryKind = { ptx: 1, cubin: 2, oldCubin: 4, lto: 8, concatenated: 0x100 } as const;

const kinds: Readonly<Record<number, FatbinKind>> = {
  [entryKind.ptx]: "ptx",
  [entryKind.cubin]: "cubin",
  [entryKind.oldCubin]: "cubin",
  [entryKind.lto]: "lto",
};

const flag = { debug: 0x2, zlib: 0x1000, lz4: 0x2000, zstd: 0x8000, specific: 0x10_0000, family: 0x20_0000 };

export function isContainer(head: Uint8Array): boolean {
  return containerMagic.every((byte, index) => head[index] === byte);
}

/** null where no container begins. */
export function readContainer(source: ByteSource, at: number): FatbinContainer | null {
  const head = readExactly(source, at, containerHeader);
  if (head === null || !isContainer(head)) return null;
  const claimed = u64(head, 8);
  const rest = source.size - at - containerHeader;
  const damage: string[] = [];
  if (claimed > rest) damage.push(`a container of GPU code claims ${claimed} bytes, its file has ${rest}`);
  const end = at + containerHeader + Math.min(claimed, rest);
  const entries = [...readEntries(source, at + containerHeader, end, damage)];
  return { at, size: end - at, entries, damage };
}

function* readEntries(
  source: ByteSource,
  start: number,
  end: number,
  damage: string[],
): Generator<FatbinEntry> {
  let at = start;
  for (let count = 0; at + entryHeader <= end; count++) {
    const head = readExactly(source, at, entryHeader);
    const size = head === null ? 0 : u32(head, 4);
    const payload = head === null ? 0 : u64(head, 8);
    if (head === null || size < entryHeader || size > maxEntryHeader || at + size + payload > end) {
      damage.push(`the GPU code at ${at} claims a header of ${size} bytes and a payload of ${payload}`);
      return;
    }
    if (count === maxEntries) {
      damage.push(`more than ${maxEntries} entries in one container of GPU code`);
      return;
    }
    if (u16(head, 0) === entryKind.concatenated) yield* readConcatenated(source, at, head, damage);
    else yield readEntry(head, 0, { at: at + size, size: payload });
    at += size + payload;
  }
  if (at < end) damage.push(`${end - at} bytes after the last GPU code of a container`);
}

/** One entry by its header, which may stand alone or in the table of a concatenated one. */
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
    // Padded to 8 bytes; the length that was compressed is exact.
    payload: payload && { at: payload.at, size: Math.min(payload.size, compressedSize || payload.size) },
  };
}

export function compressionOf(flags: number, compressedSize: number): FatbinCompression {
  if (has(flags, flag.zstd)) return "zstd";
  if (has(flags, flag.lz4)) return "lz4";
  if (has(flags, flag.zlib)) return "zlib";
  return compressedSize === 0 ? "none" : "unknown";
}

/** Flags have 64 bits, of which JavaScript's operators see 32: all known ones are among the lowest. */
function has(flags: number, bit: number): boolean {
  return ((flags % 2 ** 32) & bit) !== 0;
}
