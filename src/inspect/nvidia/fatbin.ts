/**
 * Reads fatbins, NVIDIA's containers of GPU code. Layout: fatbinary.h of CUDA 10 and earlier (magic, headers, offsets), RWTH-ACS/cricket
 * `cpu-elf2.c` and vosen/ZLUDA (flags and compression); the bits of `a` and `f` and concatenated entries are measured against
 * cuobjdump 13.5. Only headers are read.
 */

import { type ByteSource, readExactly } from "../byte-source.ts";
import { u16, u32, u64 } from "../little-endian.ts";

export interface FatbinContainer {
  /** Bytes with its header. */
  readonly size: number;
  readonly entries: readonly FatbinEntry[];
  /** The reasons why parts of it could not be read. */
  readonly damage: readonly string[];
}

/** Header of a container, first 8 bytes: magic 0xBA55ED50, version 1, header of 16 bytes. */
export const containerMagic = Uint8Array.of(0x50, 0xed, 0x55, 0xba, 0x01, 0x00, 0x10, 0x00);
const containerHeader = 16;
/** The largest seen is 312; the options of ptxas are a line of text. */
const maxEntryHeader = 2 ** 16;
const maxEntries = 2 ** 16;

export function isContainer(head: Uint8Array): boolean {
  return containerMagic.every((byte, index) => head[index] === byte);
}

/** Makes a container of one entry. */
export function containerOf(entry: Uint8Array): Uint8Array {
  const head = Buffer.alloc(containerHeader);
  head.set(containerMagic);
  head.writeBigUInt64LE(BigInt(entry.length), 8);
  return Buffer.concat([head, entry]);
}

/** null if no container begins there. */
export function readContainer(source: ByteSource, at: number): FatbinContainer | null {
  const head = readExactly(source, at, containerHeader);
  if (head === null || !isContainer(head)) return null;
  const claimed = u64(head, 8);
  const rest = source.size - at - containerHeader;
  const damage: string[] = [];
  if (claimed > rest) damage.push(`a container of GPU code claims ${claimed} bytes, its file has ${rest}`);
  const end = at + containerHeader + Math.min(claimed, rest);
  const entries = [...readEntries(source, at + containerHeader, end, damage)];
  return { size: end - at, entries, damage };
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
    else
      yield {
        ...readEntry(head, 0, { at: at + size, size: payload }),
        whole: { at, size: size + payload },
      };
    at += size + payload;
  }
  if (at < end) damage.push(`${end - at} bytes after the last GPU code of a container`);
}

/** Entries in a concatenated one. */
const maxConcatenated = 2 ** 12;

/**
 * Reads a concatenated entry (kind 0x100): many entries compressed as one, by `nvcc --concat` and `fatbinary --concat` of CUDA 13.5.
 * No document describes it: the layout was measured, and every target agreed with cuobjdump 13.5. The number of entries and the size of
 * the table follow the header, then the entries' headers. A table that does not add up counts as one entry of unknown kind.
 */
function* readConcatenated(
  source: ByteSource,
  at: number,
  head: Uint8Array,
  damage: string[],
): Generator<FatbinEntry> {
  const whole = { at: at + u32(head, 4), size: u64(head, 8) };
  const counts = readExactly(source, at + entryHeader, 8);
  const count = counts === null ? 0 : u32(counts, 0);
  const size = counts === null ? 0 : u32(counts, 4);
  const isSane = count > 0 && count <= maxConcatenated && size <= u32(head, 4) - entryHeader;
  const table = isSane ? readExactly(source, at + entryHeader, size) : null;
  const entries = table === null ? null : entriesOf(table, count);
  if (entries === null) {
    damage.push(`the table of the concatenated GPU code at ${at} does not add up`);
    yield readEntry(head, 0, whole);
    return;
  }
  const compression = compressionOf(u64(head, 40), u32(head, 16));
  const packed = { at, size: u32(head, 4) + whole.size };
  for (const entry of entries) yield { ...entry, compression, packed };
}

function entriesOf(table: Uint8Array, count: number): readonly FatbinEntry[] | null {
  const entries: FatbinEntry[] = [];
  let at = 8;
  for (let index = 0; index < count; index++) {
    if (at + entryHeader > table.length || u16(table, at) === entryKind.concatenated) return null;
    entries.push(readEntry(table, at, null));
    at += sizeOf(table, at);
  }
  return at === table.length ? entries : null;
}

/** 64 bytes, and those of ptxas options or compatibility records, whose length stands behind the header. */
function sizeOf(table: Uint8Array, at: number): number {
  const options = u32(table, at + 20);
  if (options === 0) return entryHeader;
  return Math.ceil((options + 8 + u32(table, at + options + 4) + 1) / 8) * 8;
}

/** Bytes of a header without options. */
const entryHeader = 64;

type FatbinKind = "ptx" | "cubin" | "lto" | "unknown";
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
  /** The place of the payload, compressed or not; null inside a concatenated entry. */
  readonly payload: { readonly at: number; readonly size: number } | null;
  /** The place of header and payload; absent inside a concatenated entry. */
  readonly whole?: { readonly at: number; readonly size: number };
  /** The place of the concatenated entry that it is in. */
  readonly packed?: { readonly at: number; readonly size: number };
}

export const entryKind = { ptx: 1, cubin: 2, oldCubin: 4, lto: 8, concatenated: 0x100 } as const;

const kinds: Readonly<Record<number, FatbinKind>> = {
  [entryKind.ptx]: "ptx",
  [entryKind.cubin]: "cubin",
  [entryKind.oldCubin]: "cubin",
  [entryKind.lto]: "lto",
};

const flag = { zlib: 0x1000, lz4: 0x2000, zstd: 0x8000, specific: 0x10_0000, family: 0x20_0000 };

function readEntry(bytes: Uint8Array, at: number, payload: { at: number; size: number } | null): FatbinEntry {
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
    // The size counts padding to 8 bytes; the compressed size does not.
    payload: payload && { at: payload.at, size: Math.min(payload.size, compressedSize || payload.size) },
  };
}

function compressionOf(flags: number, compressedSize: number): FatbinCompression {
  if (has(flags, flag.zstd)) return "zstd";
  if (has(flags, flag.lz4)) return "lz4";
  if (has(flags, flag.zlib)) return "zlib";
  return compressedSize === 0 ? "none" : "unknown";
}

/** JavaScript's operators see 32 of the 64 bits: all known flags are among them. */
function has(flags: number, bit: number): boolean {
  return ((flags % 2 ** 32) & bit) !== 0;
}
