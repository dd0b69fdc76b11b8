/**
 * Finds NVIDIA's GPU code anywhere in a file: containers and lone cubins, also compressed ones, by their first bytes. Vendor libraries
 * keep code outside `.nv_fatbin` (`.cask_resource`, `.ldata`, C arrays in `.rodata`), where cuobjdump does not look.
 */

import { type ByteSource, memorySource, partOf, release } from "../byte-source.ts";
import type { CodePattern } from "../code-search.ts";
import { endOfTables } from "../elf/elf.ts";
import { beginningOfZstd, decompressZstd, readZstdBytes } from "../zstd-frame.ts";
import { type Cubin, type CubinHeader, readCubin, readCubinHeader } from "./cubin.ts";
import { containerMagic, containerOf, readContainer } from "./fatbin.ts";
import type { FatbinCompression, FatbinEntry } from "./fatbin.ts";
import {
  createGpuTally,
  type GpuCode,
  type GpuModule,
  type GpuTally,
  registeredPlaces,
  relocatablePlace,
} from "./gpu-inspection.ts";
import { decompressLz4, lz4Bound, lz4Length } from "./lz4.ts";

/** The first block of a zstd frame holds at most 128 KiB (RFC 8878, 3.1.1.2.4). */
const firstBlock = 2 ** 17 + 64;
const largestCubin = 64 * 2 ** 20;
const maxCompressed = largestCubin / 4;
/** zstd frames without GPU code that are tried in one file. */
const maxFailures = 2000;
/** Bytes of compressed cubins of one file, and of their content, that may always be read. cuBLASLt 12.9 of 0.75 GB needs a gigabyte. */
const freeDecompressed = 256 * 2 ** 20;
const maxRatio = 4;

/** One piece of code. `read` is null if its bytes do not stand by themselves. */
export interface FoundPiece {
  readonly place: string;
  readonly entry: GpuModule["entries"][number];
  readonly size: number;
  readonly read: (() => Uint8Array) | null;
}

/** `result` returns null for a file without GPU code. `onPiece` gets every piece. */
export function gpuCodeSearch(
  source: ByteSource,
  place: (at: number) => string,
  onPiece: (piece: FoundPiece) => void = () => {},
): { readonly patterns: readonly CodePattern[]; readonly result: () => GpuCode | null } {
  const tally = createGpuTally();
  const search: Search = {
    source,
    tally,
    onPiece,
    place,
    samples: 16,
    failures: 0,
    decompressed: 0,
    measured: 0,
  };
  return {
    patterns: [
      { lead: 1, bytes: Buffer.from(containerMagic.subarray(1)), found: (at) => foundContainer(search, at) },
      {
        lead: 0,
        bytes: Buffer.of(0x7f, 0x45, 0x4c, 0x46, 2, 1, 1),
        endings: [
          [0x33, 7],
          [0x41, 8],
        ],
        found: (at) => foundCubin(search, at),
      },
      { lead: 1, bytes: Buffer.of(0xb5, 0x2f, 0xfd), found: (at) => foundFrame(search, at) },
    ],
    result: () => tally.result(),
  };
}

interface Search {
  readonly source: ByteSource;
  readonly tally: GpuTally;
  readonly onPiece: (piece: FoundPiece) => void;
  readonly place: (at: number) => string;
  /** Payloads of the file that may still be decompressed. */
  samples: number;
  failures: number;
  decompressed: number;
  /** Bytes that were read to tell the ends of LZ4 blocks. */
  measured: number;
}

/** The place of code, and its bytes there. */
interface Piece {
  readonly at: number;
  readonly bytes: number;
}

async function foundContainer(search: Search, at: number): Promise<number> {
  const { source, tally, onPiece, place } = search;
  const container = readContainer(source, at);
  if (container === null) return at;
  const { damage } = container;
  // Code that compares with the magic has the magic as its operand.
  if (damage.length > 0 && container.entries.length === 0 && !registeredPlaces.has(place(at))) return at;
  const entries: (FatbinEntry & { readonly exact: string | null })[] = [];
  for (const entry of container.entries) entries.push({ ...entry, exact: await exactToolkit(search, entry) });
  tally.add({ place: place(at), bytes: container.size, entries });
  for (const entry of entries) {
    const { whole } = entry;
    const read = whole === undefined ? null : () => containerOf(source.read(whole.at, whole.size));
    onPiece({ place: place(at), entry, size: whole?.size ?? 0, read });
  }
  tally.complain(damage);
  // The search goes on inside a damaged container.
  return damage.length > 0 ? at : at + container.size;
}

/** Larger modules are not decompressed for their notes alone. */
const maxSample = 4 * 2 ** 20;

/** The toolkit of machine code, from its payload: the container's header tells only a range. */
async function exactToolkit(search: Search, entry: FatbinEntry): Promise<string | null> {
  if (entry.kind !== "cubin" || entry.payload === null) return null;
  const payload = partOf(search.source, entry.payload.at, entry.payload.size);
  if (entry.compression === "none") return readCubin(payload)?.toolkit ?? null;
  if (entry.compression === "lz4") {
    const header = decompressLz4(payload.read(0, 512), 64);
    const toolkit = header === null ? null : (readCubinHeader(header)?.toolkit ?? null);
    if (toolkit !== null) return toolkit;
  }
  if (search.samples === 0 || payload.size > maxSample) return null;
  search.samples--;
  const decompress = { lz4: decompressLz4, zstd: decompressZstd, zlib: null, unknown: null }[
    entry.compression
  ];
  const whole = (await decompress?.(payload.read(0, payload.size), maxSample)) ?? null;
  return whole && (readCubin(memorySource(whole))?.toolkit ?? null);
}

async function foundCubin(search: Search, at: number): Promise<number> {
  const { source } = search;
  const cubin = readCubin(partOf(source, at, largestCubin));
  if (cubin !== null) {
    const end = endOfTables(source.read(at, 64));
    addCubin(search, { at, bytes: Math.min(end, source.size - at) }, cubin, "none");
    return at + 64;
  }
  // In an LZ4 block the first bytes stand uncompressed behind the length of a literal.
  const start = at - 1;
  const beginning = decompressLz4(source.read(start, 512), 64);
  const header = beginning === null ? null : readCubinHeader(beginning);
  if (beginning === null || header === null) return at;
  const end = endOfTables(beginning);
  await addCompressed(
    search,
    { at: start, bytes: lz4Bytes(search, start, end) },
    end,
    header,
    "lz4",
    (limit) => decompressLz4(source.read(start, lz4Bound(limit)), limit),
  );
  return at;
}

/** No field tells where an LZ4 block ends, so its lengths are read. Past the budget, its longest possible size stands. */
function lz4Bytes(search: Search, start: number, plain: number): number {
  const { source } = search;
  const most = Math.min(lz4Bound(Math.min(plain, largestCubin)), source.size - start);
  if (search.measured > freeDecompressed + maxRatio * source.size) return most;
  search.measured += most;
  return lz4Length(source.read(start, most), plain) ?? most;
}

async function foundFrame(search: Search, at: number): Promise<number> {
  const { source } = search;
  if (search.failures >= maxFailures) return at;
  const beginning = await beginningOfZstd(source.read(at, firstBlock));
  const header = beginning === null ? null : readCubinHeader(beginning);
  if (beginning === null || header === null) {
    search.failures++;
    if (search.failures === maxFailures)
      search.tally.complain([`only the first ${maxFailures} zstd frames were searched for GPU code`]);
    return at;
  }
  if (isSpent(search)) return unread(search, at);
  const packed = readZstdBytes(source, at, maxCompressed);
  search.decompressed += packed.length;
  await addCompressed(search, { at, bytes: packed.length }, maxCompressed, header, "zstd", (limit) =>
    decompressZstd(packed, limit),
  );
  // A source in memory gives its own bytes.
  if (packed.length < source.size) release(packed);
  return at;
}

/**
 * A cubin of CUDA 13 says in the middle of the file whether the code is for one device only. So the cubin is decompressed up to `end`, and
 * further only if its tables do not stand before.
 */
async function addCompressed(
  search: Search,
  piece: Piece,
  end: number,
  header: CubinHeader,
  compression: FatbinCompression,
  decompress: (limit: number) => Uint8Array | null | Promise<Uint8Array | null>,
): Promise<void> {
  if (header.isSpecific !== null) {
    const { isSpecific } = header;
    addCubin(search, piece, { ...header, isSpecific, suffix: isSpecific ? "a" : "" }, compression);
    return;
  }
  let cubin: Cubin | null = null;
  for (const limit of [Math.min(end, maxCompressed), maxCompressed]) {
    if (isSpent(search)) break;
    const whole = await decompress(limit);
    if (whole === null) break;
    search.decompressed += whole.length;
    cubin = readCubin(memorySource(whole));
    const isCut = whole.length === limit;
    release(whole);
    if (cubin?.isWhole === true || !isCut) break;
  }
  if (cubin?.isWhole !== true) unread(search, piece.at);
  else addCubin(search, piece, cubin, compression);
}

function isSpent({ decompressed, source }: Search): boolean {
  return decompressed > freeDecompressed + maxRatio * source.size;
}

function unread({ tally }: Search, at: number): number {
  tally.complain([`a compressed cubin at ${at} was not read to its end`]);
  return at;
}

function addCubin(
  { source, tally, onPiece, place }: Search,
  { at, bytes }: Piece,
  cubin: Omit<Cubin, "isWhole">,
  compression: FatbinCompression,
): void {
  const entry: FatbinEntry & { exact: string | null } = {
    kind: "cubin",
    rawKind: 2,
    arch: cubin.arch,
    suffix: cubin.suffix,
    version: { major: 1, minor: cubin.abi },
    compression,
    payload: null,
    exact: cubin.toolkit,
  };
  const section = cubin.isRelocatable ? relocatablePlace : place(at);
  tally.add({ place: section, bytes, entries: [entry] });
  const read = compression === "none" ? () => source.read(at, bytes) : null;
  onPiece({ place: section, entry, size: bytes, read });
}
