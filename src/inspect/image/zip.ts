/** Reads zip archives: jars, wheels. Source: PKWARE APPNOTE 6.3.10. Only what the central directory lists exists. */

import zlib from "node:zlib";
import { type ByteSource, readExactly, withoutZeros } from "../byte-source.ts";
import { holdsCodeFrom } from "../file-inspection.ts";
import { u16, u32, u64 } from "../little-endian.ts";
import { type Chunks, chunksOf } from "./chunks.ts";
import { through } from "./decompress.ts";

export interface ZipEntry {
  readonly path: string;
  /** 0 is stored, 8 is deflated. Others are not opened. */
  readonly method: number;
  readonly isEncrypted: boolean;
  readonly compressedSize: number;
  readonly headerAt: number;
  /** Its record in the directory. */
  readonly record: Area;
}

interface Area {
  readonly at: number;
  readonly size: number;
}

const maxEntries = 200_000;
const maxDirectory = 64 * 2 ** 20;
const entryMark = 0x02014b50;
const endMark = Buffer.of(0x50, 0x4b, 5, 6);

export function isZip(head: Uint8Array): boolean {
  return u32(head, 0) === 0x04034b50;
}

interface Directory {
  readonly at: number;
  readonly size: number;
  /** The records behind the directory. */
  readonly records: Area;
  /** Bytes before the archive: the places that the directory names do not count them. */
  readonly shift: number;
}

/** A zip archive may stand behind a script or a program. */
export function endsWithZip(source: ByteSource): boolean {
  return findDirectory(source) !== null;
}

/** null without a readable directory. */
export function readZip(source: ByteSource): readonly ZipEntry[] | null {
  const place = findDirectory(source);
  if (place === null || place.size > maxDirectory) return null;
  const directory = readExactly(source, place.at, place.size);
  if (directory === null) return null;
  const entries: ZipEntry[] = [];
  for (let at = 0; at + 46 <= directory.length && u32(directory, at) === entryMark; ) {
    if (entries.length === maxEntries) return null;
    const [extraLength, commentLength] = [u16(directory, at + 30), u16(directory, at + 32)];
    const end = at + 46 + u16(directory, at + 28);
    const { compressedSize, headerAt } = sizesOf(directory, at, end, extraLength);
    entries.push({
      path: Buffer.from(directory.subarray(at + 46, end)).toString("utf8"),
      method: u16(directory, at + 10),
      isEncrypted: (u16(directory, at + 8) & 1) === 1,
      compressedSize,
      headerAt: headerAt + place.shift,
      record: { at: place.at + at, size: end - at + shortOnly(extraLength + commentLength) },
    });
    at = end + extraLength + commentLength;
  }
  return entries;
}

/** Finds the last record of the file that leads to a directory. A comment of at most 64 KiB may follow it. */
function findDirectory(source: ByteSource): Directory | null {
  const length = Math.min(source.size, 22 + 0xffff);
  const start = source.size - length;
  const tail = Buffer.from(source.read(start, length));
  for (let at = tail.length - 22; at >= 0; at--) {
    at = tail.lastIndexOf(endMark, at);
    if (at === -1) return null;
    const found = directoryBefore(source, start + at, tail.subarray(at));
    if (found !== null) return found;
  }
  return null;
}

/** The directory ends where its record begins, which tells how much stands before the archive; or it stands where the record says. */
function directoryBefore(source: ByteSource, recordAt: number, record: Uint8Array): Directory | null {
  const short = { size: u32(record, 12), at: u32(record, 16), end: recordAt };
  const { size, at, end } = largeRecord(source, recordAt) ?? short;
  const records = { at: Math.max(end, recordAt - 76), size: recordAt + 22 - Math.max(end, recordAt - 76) };
  if (size === 0) return { at: end, size, records, shift: 0 };
  for (const real of [end - size, at]) {
    const mark = readExactly(source, real, 4);
    if (mark !== null && u32(mark, 0) === entryMark) return { at: real, size, records, shift: real - at };
  }
  return null;
}

/** The zip64 record, for numbers that do not fit. Its locator stands between it and the record. */
function largeRecord(source: ByteSource, recordAt: number): { size: number; at: number; end: number } | null {
  const locator = readExactly(source, recordAt - 20, 20);
  if (locator === null || u32(locator, 0) !== 0x07064b50) return null;
  for (const at of [recordAt - 76, u64(locator, 8)]) {
    const large = readExactly(source, at, 56);
    if (large !== null && u32(large, 0) === 0x06064b50)
      return { size: u64(large, 40), at: u64(large, 48), end: at };
  }
  return null;
}

/**
 * Bytes that the archive's directory does not lead to, without zeros: entries that the directory lacks, data between entries and records, long
 * comments and extra fields. Who reads the file by other means finds these bytes.
 */
export function unlistedBytes(source: ByteSource, entries: readonly ZipEntry[]): number {
  const directory = findDirectory(source);
  if (directory === null) return 0;
  const areas = entries.flatMap((entry) => [...placeOf(source, entry), entry.record]);
  areas.push(directory.records);
  areas.sort((a, b) => a.at - b.at);
  let end = isZip(readExactly(source, 0, 4) ?? Buffer.alloc(4)) ? 0 : (areas[0]?.at ?? 0);
  let unlisted = 0;
  for (const { at, size } of [...areas, { at: source.size, size: 0 }]) {
    if (at > end) unlisted += withoutZeros(source, end, at);
    end = Math.max(end, at + size);
  }
  return unlisted;
}

/** An entry's header, and its data with the sizes that a stream writes behind them. */
function placeOf(source: ByteSource, { headerAt, compressedSize }: ZipEntry): readonly Area[] {
  const header = readExactly(source, headerAt, 30);
  if (header === null || !isZip(header)) return [];
  const streamed = (u16(header, 6) & 8) === 0 ? 0 : 24;
  const named = headerAt + 30 + u16(header, 26);
  const extra = u16(header, 28);
  return [
    { at: headerAt, size: named - headerAt + shortOnly(extra) },
    { at: named + extra, size: compressedSize + streamed },
  ];
}

/** Each entry may have a short extra field and a comment: times, owners, sizes. */
function shortOnly(length: number): number {
  return length < holdsCodeFrom ? length : 0;
}

function sizesOf(directory: Uint8Array, at: number, extraAt: number, extraLength: number) {
  const short = [u32(directory, at + 24), u32(directory, at + 20), u32(directory, at + 42)];
  const large: number[] = [];
  for (let field = extraAt; field + 4 <= Math.min(extraAt + extraLength, directory.length); ) {
    const size = u16(directory, field + 2);
    if (u16(directory, field) === 1)
      for (let value = field + 4; value + 8 <= field + 4 + size; value += 8)
        large.push(u64(directory, value));
    field += 4 + size;
  }
  // The extra field holds only the numbers that do not fit, in this order.
  const [, compressedSize = 0, headerAt = 0] = short.map((value) =>
    value === 0xffffffff ? (large.shift() ?? value) : value,
  );
  return { compressedSize, headerAt };
}

/**
 * null for an entry that is encrypted, compressed in another way, or not there. The stream throws zlib's errors.
 *
 * @param behind is told how many bytes of the entry stand behind the end of its compressed data
 */
export function openZipEntry(
  source: ByteSource,
  entry: ZipEntry,
  behind: (bytes: number) => void,
): Chunks | null {
  const header = readExactly(source, entry.headerAt, 30);
  if (header === null || !isZip(header) || entry.isEncrypted) return null;
  const start = entry.headerAt + 30 + u16(header, 26) + u16(header, 28);
  if (start + entry.compressedSize > source.size) return null;
  const raw = chunksOf(source, start, entry.compressedSize);
  if (entry.method === 0) return raw;
  if (entry.method !== 8) return null;
  return inflated(raw, entry.compressedSize, behind);
}

async function* inflated(raw: Chunks, size: number, behind: (bytes: number) => void): Chunks {
  const stream = zlib.createInflateRaw({ chunkSize: 2 ** 17 });
  yield* through(raw, stream, (error) => error);
  behind(size - stream.bytesWritten);
}
