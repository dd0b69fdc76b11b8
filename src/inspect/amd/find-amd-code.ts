/**
 * Finds AMD's GPU code anywhere in a file: bundles, plain and compressed, and lone code objects. Targets are those of the objects'
 * headers, not those of the bundles' entries.
 *
 * From ROCm 7.14 on a program may refer to archives beside it (kpack.ts): its own bundles are empty then.
 */

import { type ByteSource, memorySource, partOf } from "../byte-source.ts";
import type { CodePattern } from "../code-search.ts";
import { type Elf, endOfTables } from "../elf/elf.ts";
import { u32 } from "../little-endian.ts";
import { type AmdCode, type AmdTally, type ArchiveReference, createAmdTally } from "./amd-inspection.ts";
import { bundleMagic, offloadMagic, readBundle, readOffloadBinary } from "./bundle.ts";
import { imageHead, readCodeObject } from "./code-object.ts";
import { readArchiveReference } from "./kpack.ts";
import { compressedMagic, readCompressedBundle } from "./compressed-bundle.ts";

interface Search {
  readonly source: ByteSource;
  readonly tally: AmdTally;
  readonly place: (at: number) => string;
  /** Bytes to which its compressed bundles may still be decompressed. */
  readonly budget: { left: number };
}

/** For one file: as much as {@link readCompressedBundle} allows its bundles, and no more than the archives of a layer unpack to. */
const budgetOf = (size: number) => Math.min(2 ** 34, 2 ** 28 + 64 * size);

const bundleSection = ".hip_fatbin";

/** `result` returns null for a file without GPU code of AMD. */
export function amdCodeSearch(
  source: ByteSource,
  elf: Elf | null,
  place: (at: number) => string,
): { readonly patterns: readonly CodePattern[]; readonly result: () => AmdCode | null } {
  const tally = createAmdTally();
  const search: Search = { source, tally, place, budget: { left: budgetOf(source.size) } };
  return {
    patterns: [
      { lead: 8, bytes: bundleMagic.subarray(8, 15), found: (at) => foundBundle(search, at) },
      {
        lead: 2,
        bytes: compressedMagic.subarray(2),
        endings: [1, 2, 3].map((version) => [version, 0] as const),
        found: (at) => foundCompressed(search, at),
      },
      { lead: 3, bytes: offloadMagic.subarray(3, 6), found: (at) => foundOffloadBinary(search, at) },
      {
        lead: 0,
        bytes: Buffer.of(0x7f, 0x45, 0x4c, 0x46, 2, 1, 1),
        endings: Array.from({ length: 16 }, (_, abiVersion) => [64, abiVersion] as const),
        found: (at) => foundObject(search, at),
      },
    ],
    result() {
      const elsewhere = archivesBeside(source, elf);
      const isUnread = elf?.sections.some(({ name, size }) => name === bundleSection && size > 0) === true;
      if (elsewhere !== null) tally.complain([elsewhere.reason]);
      else if (isUnread && tally.modulesIn(bundleSection) === 0)
        tally.complain([`section ${bundleSection} holds no GPU code that is known`]);
      const code = tally.result();
      return code !== null && elsewhere?.reference ? { ...code, elsewhere: elsewhere.reference } : code;
    },
  };
}

/** Linkers align bundles to so many bytes, so that a section of a gigabyte is read by its headers alone. */
const bundleStep = 4096;

function foundBundle({ source, tally, place }: Search, at: number): number {
  for (let [next, end] = [at, at]; ; ) {
    const bundle = readBundle(partOf(source, next, source.size - next), next);
    if (bundle === null) return end;
    tally.complain(bundle.damage);
    // The search goes on inside it, behind its table: tables that lie over one another are read once.
    if (bundle.hasMore) return next + bundle.tableEnd;
    const bytes = Math.min(bundle.end, source.size - next);
    if (bundle.images.length > 0) tally.add(place(next), bytes, bundle.images);
    end = next + bytes;
    next += Math.ceil(bytes / bundleStep) * bundleStep;
  }
}

function foundCompressed({ source, tally, place, budget }: Search, at: number): number {
  const compressed = readCompressedBundle(source, at, budget);
  if (compressed === null) return at;
  const { bytes, plain, damage } = compressed;
  const bundle = plain === null ? null : readBundle(memorySource(plain), at);
  const images = bundle?.images.map(({ bytes: _, ...image }) => image) ?? [];
  tally.add(place(at), bytes, images);
  tally.complain([...damage, ...(bundle?.damage ?? [])]);
  if (plain !== null && bundle?.hasMore !== false)
    tally.complain([`the compressed bundle of GPU code at ${at} holds more than code for AMD GPUs`]);
  return at + bytes;
}

function foundOffloadBinary({ source, tally, place }: Search, at: number): number {
  const found = readOffloadBinary(source, at);
  if (found === null) return at;
  tally.add(place(at), found.size, [found.image]);
  return at + found.size;
}

function foundObject({ source, tally, place }: Search, at: number): number {
  const head = source.read(at, imageHead);
  const image = readCodeObject(head);
  if (image === null) return at;
  const bytes = Math.min(endOfTables(head), source.size - at);
  tally.add(place(at), bytes, [{ ...image, bytes }]);
  return at + imageHead;
}

const referenceSection = ".rocm_kpack_ref";
const wrapperSection = ".hipFatBinSegment";
const wrapperBytes = 24;
/** `HIPK` in place of `HIPF`. */
const kpackWrapper = 0x4b504948;
const maxRead = 2 ** 16;

/** Begins the reason why a program's own code is not there. */
export const codeIsElsewhere = "its GPU code is in archives beside it";

/** null for a program without such a reference. */
function archivesBeside(
  source: ByteSource,
  elf: Elf | null,
): { readonly reason: string; readonly reference: ArchiveReference | null } | null {
  const bytesOf = (wanted: string) => {
    const section = elf?.sections.find(({ name, size }) => name === wanted && size > 0);
    return section && source.read(section.offset, Math.min(section.size, maxRead));
  };
  const section = bytesOf(referenceSection);
  if (section === undefined && !hasWrapper(bytesOf(wrapperSection))) return null;
  const reference = section === undefined ? null : readArchiveReference(section);
  const where =
    reference === null
      ? "and its reference to them is not understood"
      : `which are not here: ${reference.paths.join(", ")}`;
  return { reason: `${codeIsElsewhere}, ${where}`, reference };
}

function hasWrapper(wrappers: Uint8Array | undefined): boolean {
  for (let at = 0; wrappers !== undefined && at < wrappers.length; at += wrapperBytes)
    if (u32(wrappers, at) === kpackWrapper) return true;
  return false;
}
