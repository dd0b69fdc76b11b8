/** Opens the content of a file: code, or archives with code in them, within bounds. */

import { faultOf } from "../../errors.ts";
import type { ByteSource } from "../byte-source.ts";
import { claimReader, maxClaim } from "../claims/claim-files.ts";
import { headBytes, holdsCode, holdsCodeFrom } from "../file-inspection.ts";
import { maxScript } from "../loader/shell-path.ts";
import {
  type ArchiveBudget,
  ArchiveBomb,
  countName,
  isDamage,
  type Opening,
  within,
} from "./archive-budget.ts";
import { type Chunks, chunksOf, createChunkReader } from "./chunks.ts";
import { compressionBy, decompressed } from "./decompress.ts";
import { findMark } from "./marks.ts";
import type { ContentSink } from "./opened-file.ts";
import { isTar, readTar } from "./read-tar.ts";
import { closeSpooled, maxSpool, type SpooledFile, sourceOf, spool } from "./spool.ts";
import { endsWithZip, isZip, openZipEntry, readZip, unlistedBytes } from "./zip.ts";

/** The deepest nesting that was seen: a wheel in a zip in a jar. */
const maxDepth = 3;
const tooDeep = `an archive inside ${maxDepth} others`;
const maxSearched = 2 * maxSpool;
/** Longer modules hold tables. */
const maxPython = 4 * 2 ** 20;
const behindScript = "bytes behind a script, perhaps to unpack at run time";
/** Formats that may hold programs and are not read, by the hexadecimal digits of their first bytes. */
const closed: readonly (readonly [string, RegExp])[] = [
  ["xz", /^fd377a585a00/],
  ["bzip2", /^425a683[1-9]314159265359/],
  ["lz4", /^(04224d18|02214c18)/],
  // Its properties, a dictionary of at least 64 KiB, and a length that is unknown or below 2^40 (LZMA SDK, lzma-specification.txt).
  ["lzma", /^5d0000.{4}(ffffffffffffffff|.{10}000000)/],
  ["lzip", /^4c5a495001/],
  ["lzop", /^894c5a4f000d0a1a0a/],
  ["compress", /^1f9d/],
  ["snappy", /^ff060000734e61507059/],
  ["7-Zip", /^377abcaf27/],
  ["RAR", /^526172211a07/],
  ["RPM", /^edabeedb/],
  ["cpio", /^30373037303[127]/],
  ["squashfs", /^68737173/],
];
/** Debian's packages are `ar` archives, as static libraries are: the name tells them apart. */
const debianPackage = { name: /\.deb$/, head: /^213c617263683e0a/ };

/**
 * Opens a file. A fault of its content goes to `sink.unopened`; errors of reading the image are thrown. `path` is its place inside the
 * file of the image, `name` tells Debian's packages.
 */
export async function inspectContent(
  path: string,
  chunks: Chunks,
  sink: ContentSink,
  budget: ArchiveBudget,
  name = path,
): Promise<void> {
  const opening: Opening = { sink, layer: budget, packed: 0, unpacked: 0 };
  const counted = async function* (): Chunks {
    for await (const chunk of chunks) {
      opening.packed += chunk.length;
      yield chunk;
    }
  };
  await openBytes(path, counted(), opening, name, 0);
}

/** Does the same for a program that can be read by place. Takes the file over. */
export async function inspectProgram(
  file: SpooledFile,
  sink: ContentSink,
  budget: ArchiveBudget,
): Promise<void> {
  await openProgram("", file, { sink, layer: budget, packed: file.size, unpacked: 0 }, 0);
}

async function openBytes(path: string, chunks: Chunks, opening: Opening, name: string, depth: number) {
  const reader = createChunkReader(chunks);
  try {
    const head = await reader.take(headBytes);
    await openContent(path, head, reader.behind(head), opening, name, depth);
  } finally {
    await reader.close();
  }
}

async function openContent(
  path: string,
  head: Uint8Array,
  whole: Chunks,
  opening: Opening,
  name: string,
  depth: number,
): Promise<void> {
  const { sink } = opening;
  if (holdsCode(head)) return openFile(path, whole, opening, depth);
  const compression = compressionBy(head);
  const isArchive = isZip(head) || isTar(head) || compression !== null;
  if (!isArchive) {
    const format = closedFormat(head, name);
    if (format === null) return openUnmarked(path, head, whole, opening, name, depth);
    // A compressed manual page is too short to hold a program.
    if (await isLong(whole)) sink.unopened(path, `packed in a format that is not read (${format})`);
    return;
  }
  if (depth >= maxDepth) {
    sink.unopened(path, tooDeep);
    return;
  }
  try {
    if (isZip(head)) await openZip(path, whole, opening, depth);
    else if (isTar(head)) await openTar(path, whole, opening, depth);
    else
      await openBytes(
        path,
        within(opening, decompressed(whole, compression, path)),
        opening,
        name,
        depth + 1,
      );
  } catch (error) {
    tellDamage(path, error, opening);
  }
}

/** Reports a fault of the content, and throws any other error. */
function tellDamage(path: string, error: unknown, { sink }: Opening): void {
  if (!isDamage(error)) throw error;
  sink.unopened(path, faultOf(error));
}

function closedFormat(head: Uint8Array, name: string): string | null {
  const digits = Buffer.from(head.subarray(0, 16)).toString("hex");
  if (debianPackage.head.test(digits) && debianPackage.name.test(name)) return "ar";
  return closed.find(([, mark]) => mark.test(digits))?.[0] ?? null;
}

async function isLong(chunks: Chunks): Promise<boolean> {
  return (await createChunkReader(chunks).take(holdsCodeFrom)).length === holdsCodeFrom;
}

async function openFile(path: string, chunks: Chunks, opening: Opening, depth: number): Promise<void> {
  const file = await spooled(path, chunks, opening);
  if (file !== null) await openProgram(path, file, opening, depth);
}

/** null for a file that is too long, which is reported. */
async function spooled(path: string, chunks: Chunks, { sink }: Opening): Promise<SpooledFile | null> {
  const file = await spool(chunks);
  if (file === null) sink.unopened(path, `longer than ${maxSpool} bytes`);
  return file;
}

/** Opens a program, and the zip archive at its end. Takes the file over. */
async function openProgram(path: string, file: SpooledFile, opening: Opening, depth: number): Promise<void> {
  try {
    await openZipAtEnd(path, sourceOf(file), opening, depth);
  } catch (error) {
    closeSpooled(file);
    throw error;
  }
  await opening.sink.file(path, file);
}

/** Returns whether there is one. Its faults do not hide the rest of the file. */
async function openZipAtEnd(
  path: string,
  source: ByteSource,
  opening: Opening,
  depth: number,
): Promise<boolean> {
  if (!endsWithZip(source)) return false;
  if (depth >= maxDepth) opening.sink.unopened(path, tooDeep);
  else
    await openEntries(path, source, opening, depth).catch((error: unknown) =>
      tellDamage(path, error, opening),
    );
  return true;
}

/** Opens a file that begins with no mark: a script, data, an unknown archive. It is held only from its first mark on. */
async function openUnmarked(
  path: string,
  head: Uint8Array,
  chunks: Chunks,
  opening: Opening,
  name: string,
  depth: number,
) {
  const { sink } = opening;
  const isPython = name.endsWith(".py");
  const isScript = head[0] === 0x23 && head[1] === 0x21;
  const isClaim = path !== "" && claimReader(path) !== null;
  const longest = isClaim ? maxClaim : isPython ? maxPython : isScript && path === "" ? maxScript : -1;
  const seen = { bytes: 0, firstZero: Number.POSITIVE_INFINITY };
  const text: Uint8Array[] = [];
  const watched = async function* (): Chunks {
    for await (const chunk of chunks) {
      if (seen.bytes > maxSearched) {
        sink.unopened(path, `longer than ${maxSearched} bytes`);
        return;
      }
      if (isScript && seen.firstZero > seen.bytes) {
        const zero = chunk.indexOf(0);
        if (zero !== -1) seen.firstZero = seen.bytes + zero;
      }
      if (seen.bytes <= longest) text.push(chunk);
      seen.bytes += chunk.length;
      yield chunk;
    }
  };
  const first = await findMark(watched(), ["zip", "gpu", "program"]);
  if (text.length > 0) {
    const bytes = Buffer.concat(text);
    if (isClaim) sink.claim(path, bytes);
    const whole = bytes.toString("utf8");
    if (isPython) sink.python(path, whole);
    if (isScript && path === "") sink.script(whole);
  }
  if (first === null) {
    if (seen.bytes - seen.firstZero >= holdsCodeFrom) sink.unopened(path, behindScript);
    return;
  }
  const file = await spooled(path, first.rest, opening);
  if (file === null) return;
  let isTaken = false;
  try {
    const source = sourceOf(file);
    const hasZip = await openZipAtEnd(path, source, opening, depth);
    // A text has no zeros; of a thousand packed bytes some are zero.
    if ((hasZip && first.mark === "zip" ? first.at : seen.bytes) - seen.firstZero >= holdsCodeFrom)
      sink.unopened(path, behindScript);
    const program = hasZip && first.mark !== "program" ? null : await findMark(chunksOf(source), ["program"]);
    if (program !== null)
      sink.unopened(path, `a program ${first.at + program.at} bytes behind its beginning`);
    isTaken = !hasZip || first.mark === "gpu";
    if (isTaken) await sink.file(path, file);
  } finally {
    if (!isTaken) closeSpooled(file);
  }
}

async function openZip(path: string, chunks: Chunks, opening: Opening, depth: number) {
  const file = await spooled(path, chunks, opening);
  if (file === null) return;
  try {
    await openEntries(path, sourceOf(file), opening, depth);
  } finally {
    closeSpooled(file);
  }
}

async function openEntries(path: string, source: ByteSource, opening: Opening, depth: number) {
  const { sink } = opening;
  const entries = readZip(source);
  if (entries === null) {
    sink.unopened(path, "a zip archive without a readable directory");
    return;
  }
  const unlisted = unlistedBytes(source, entries);
  if (unlisted >= holdsCodeFrom)
    sink.unopened(path, `${unlisted} bytes in a zip archive that its directory does not list`);
  for (const entry of entries) {
    const name = `${path}!/${entry.path}`;
    countName(opening, name);
    // A folder's name may still have content.
    if (entry.path.endsWith("/") && entry.compressedSize < holdsCodeFrom) continue;
    const inner = openZipEntry(source, entry, (bytes) => {
      if (bytes >= holdsCodeFrom) sink.unopened(name, `${bytes} bytes behind its compressed data`);
    });
    if (inner === null)
      sink.unopened(name, entry.isEncrypted ? "encrypted" : "compressed in a way that is not read");
    else await innerContent(name, within(opening, inner), opening, depth);
  }
}

async function openTar(path: string, chunks: Chunks, opening: Opening, depth: number) {
  for await (const entry of readTar(chunks, path)) {
    const name = `${path}!/${entry.path}`;
    countName(opening, name);
    if (entry.isSparse) opening.sink.unopened(name, "a sparse file in an archive");
    else if (entry.type === "file") await innerContent(name, within(opening, entry.content), opening, depth);
  }
}

/** A damaged member does not hide the others. */
async function innerContent(path: string, chunks: Chunks, opening: Opening, depth: number) {
  try {
    await openBytes(path, chunks, opening, path, depth + 1);
  } catch (error) {
    if (!isDamage(error) || error instanceof ArchiveBomb) throw error;
    opening.sink.unopened(path, faultOf(error));
  }
}
