/** Opens what a file of an image holds: code, or an archive with code in it, to a bound. */

import { ImgmatchError } from "../../errors.ts";
import type { ByteSource } from "../byte-source.ts";
import { headBytes, holdsCode, holdsCodeFrom } from "../file-inspection.ts";
import { maxScript } from "../loader/shell-path.ts";
import { type Chunks, chunksOf, createChunkReader } from "./chunks.ts";
import { compressionBy, decompressed } from "./decompress.ts";
import { findMark } from "./marks.ts";
import type { ContentSink } from "./opened-file.ts";
import { readTar } from "./read-tar.ts";
import { closeSpooled, maxSpool, type SpooledFile, sourceOf, spool } from "./spool.ts";
import { endsWithZip, isZip, openZipEntry, readZip } from "./zip.ts";

/** The bytes that the archives of one layer may still unpack to, and those of the names in them, all together. */
export interface ArchiveBudget {
  left: number;
  names: number;
}

export function archiveBudget(): ArchiveBudget {
  return { left: maxArchives, names: maxNames };
}

const maxArchives = 16 * 2 ** 30;
const maxNames = 64 * 2 ** 20;
/** Programs shrink to a third, logs to a twentieth; zlib cannot do more than 1:1032 at once (zlib's technical details). */
const maxRatio = 200;
/** Small archives of nearly nothing but zeros are none that do harm. */
const freeBytes = 256 * 2 ** 20;

/** One file of the layer: who is told of it, what it has, and what it has unpacked to so far, together with all archives in it. */
interface Opening {
  readonly sink: ContentSink;
  readonly layer: ArchiveBudget;
  packed: number;
  unpacked: number;
}

/** A wheel in a zip in a jar: nobody has seen more. */
const maxDepth = 3;
const tooDeep = `an archive inside ${maxDepth} others`;
/** Twice the longest file that is read by place. */
const maxSearched = 2 * maxSpool;
const behindScript = "bytes behind a script, which it may unpack when it runs";
/** Formats that hold programs and are not read, by their first bytes as hexadecimal digits. */
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
  ["kpack", /^4b50414b/],
];
/** A static library is no program, but a package of Debian is an `ar` archive as well. */
const debianPackage = { name: /\.deb$/, head: /^213c617263683e0a/ };

/**
 * Does not throw for what is in the file: what cannot be opened is told. `path` is where it stands inside the file of an image, `name`
 * what tells packages by their names. Throws what reading the image throws.
 */
export async function inspectContent(
  path: string,
  chunks: Chunks,
  sink: ContentSink,
  budget: ArchiveBudget,
  name = path,
): Promise<void> {
  const own: Opening = { sink, layer: budget, packed: 0, unpacked: 0 };
  const counted = async function* (): Chunks {
    for await (const chunk of chunks) {
      own.packed += chunk.length;
      yield chunk;
    }
  };
  await openBytes(path, counted(), own, name, 0);
}

/** The same of a program that lies where it can be read by place. Takes the file over. */
export async function inspectProgram(
  file: SpooledFile,
  sink: ContentSink,
  budget: ArchiveBudget,
): Promise<void> {
  await openProgram("", file, { sink, layer: budget, packed: file.size, unpacked: 0 }, 0);
}

async function openBytes(path: string, chunks: Chunks, own: Opening, name: string, depth: number) {
  const reader = createChunkReader(chunks);
  try {
    const head = await reader.take(headBytes);
    await openContent(path, head, reader.behind(head), own, name, depth);
  } finally {
    await reader.close();
  }
}

async function openContent(
  path: string,
  head: Uint8Array,
  whole: Chunks,
  own: Opening,
  name: string,
  depth: number,
): Promise<void> {
  const { sink } = own;
  if (holdsCode(head)) return openFile(path, whole, own, depth);
  const compression = compressionBy(head);
  const isArchive = isZip(head) || isTar(head) || compression !== null;
  if (!isArchive) {
    const format = closedFormat(head, name);
    if (format === null) return openUnmarked(path, head, whole, own, depth);
    // A page of a manual is too short to hold a program.
    if (await isLong(whole)) sink.unopened(path, `packed in a format that is not read (${format})`);
    return;
  }
  if (depth >= maxDepth) {
    sink.unopened(path, tooDeep);
    return;
  }
  try {
    if (isZip(head)) await openZip(path, whole, own, depth);
    else if (isTar(head)) await openTar(path, whole, own, depth);
    else await openBytes(path, within(own, decompressed(whole, compression, path)), own, name, depth + 1);
  } catch (error) {
    tellDamage(path, error, own);
  }
}

/** Throws what is no fault of the content. */
function tellDamage(path: string, error: unknown, { sink }: Opening): void {
  if (!isDamage(error)) throw error;
  sink.unopened(path, error.message.replace(/^[A-Z_]+: /, ""));
}

function closedFormat(head: Uint8Array, name: string): string | null {
  const digits = Buffer.from(head.subarray(0, 16)).toString("hex");
  if (debianPackage.head.test(digits) && debianPackage.name.test(name)) return "ar";
  return closed.find(([, mark]) => mark.test(digits))?.[0] ?? null;
}

async function isLong(chunks: Chunks): Promise<boolean> {
  return (await createChunkReader(chunks).take(holdsCodeFrom)).length === holdsCodeFrom;
}

async function openFile(path: string, chunks: Chunks, own: Opening, depth: number): Promise<void> {
  const file = await spooled(path, chunks, own);
  if (file !== null) await openProgram(path, file, own, depth);
}

/** null for what is longer than any file that would be opened, which is told. */
async function spooled(path: string, chunks: Chunks, { sink }: Opening): Promise<SpooledFile | null> {
  const file = await spool(chunks);
  if (file === null) sink.unopened(path, `longer than ${maxSpool} bytes`);
  return file;
}

/** And the zip archive at its end, if it has one. Takes the file over. */
async function openProgram(path: string, file: SpooledFile, own: Opening, depth: number): Promise<void> {
  try {
    await openZipAtEnd(path, sourceOf(file), own, depth);
  } catch (error) {
    closeSpooled(file);
    throw error;
  }
  await own.sink.file(path, file);
}

/** Answers whether there is one. A fault of it hides nothing else of the file. */
async function openZipAtEnd(path: string, source: ByteSource, own: Opening, depth: number): Promise<boolean> {
  if (!endsWithZip(source)) return false;
  if (depth >= maxDepth) own.sink.unopened(path, tooDeep);
  else await openEntries(path, source, own, depth).catch((error: unknown) => tellDamage(path, error, own));
  return true;
}

/** Opens a file that begins with no mark: a script, data, somebody's own archive. Nothing is kept of it before the first mark. */
async function openUnmarked(path: string, head: Uint8Array, chunks: Chunks, own: Opening, depth: number) {
  const { sink } = own;
  const isScript = head[0] === 0x23 && head[1] === 0x21;
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
      if (isScript && path === "" && seen.bytes <= maxScript) text.push(chunk);
      seen.bytes += chunk.length;
      yield chunk;
    }
  };
  const first = await findMark(watched(), ["zip", "gpu", "program"]);
  if (text.length > 0) sink.script(Buffer.concat(text).toString("utf8"));
  if (first === null) {
    if (seen.bytes - seen.firstZero >= holdsCodeFrom) sink.unopened(path, behindScript);
    return;
  }
  const file = await spooled(path, first.rest, own);
  if (file === null) return;
  let isTaken = false;
  try {
    const source = sourceOf(file);
    const hasZip = await openZipAtEnd(path, source, own, depth);
    // A text has no zeros, and packed bytes have some in every thousand.
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

async function openZip(path: string, chunks: Chunks, own: Opening, depth: number) {
  const file = await spooled(path, chunks, own);
  if (file === null) return;
  try {
    await openEntries(path, sourceOf(file), own, depth);
  } finally {
    closeSpooled(file);
  }
}

async function openEntries(path: string, source: ByteSource, own: Opening, depth: number) {
  const { sink } = own;
  const entries = readZip(source);
  if (entries === null) sink.unopened(path, "a zip archive without a readable directory");
  for (const entry of entries ?? []) {
    const name = `${path}!/${entry.path}`;
    countName(own, name);
    if (entry.path.endsWith("/")) continue;
    const inner = openZipEntry(source, entry);
    if (inner === null)
      sink.unopened(name, entry.isEncrypted ? "encrypted" : "compressed in a way that is not read");
    else await innerContent(name, within(own, inner), own, depth);
  }
}

async function openTar(path: string, chunks: Chunks, own: Opening, depth: number) {
  for await (const entry of readTar(chunks, path)) {
    const name = `${path}!/${entry.path}`;
    countName(own, name);
    if (entry.isSparse) own.sink.unopened(name, "a sparse file in an archive");
    else if (entry.type === "file") await innerContent(name, within(own, entry.content), own, depth);
  }
}

/** A damaged member does not hide the others. */
async function innerContent(path: string, chunks: Chunks, own: Opening, depth: number) {
  try {
    await openBytes(path, chunks, own, path, depth + 1);
  } catch (error) {
    if (!isDamage(error) || error instanceof ArchiveBomb) throw error;
    own.sink.unopened(path, error.message);
  }
}

async function* within(own: Opening, chunks: Chunks): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    own.unpacked += chunk.length;
    own.layer.left -= chunk.length;
    if (own.unpacked > freeBytes + maxRatio * own.packed)
      throw new ArchiveBomb(`unpacks to more than ${maxRatio} times its size`);
    if (own.layer.left < 0)
      throw new ArchiveBomb(`the archives of its layer unpack to more than ${maxArchives} bytes`);
    yield chunk;
  }
}

/** Also of what is not opened, as it is told. */
function countName({ layer }: Opening, name: string): void {
  layer.names -= name.length;
  if (layer.names < 0)
    throw new ArchiveBomb(`the names in archives of its layer have more than ${maxNames} bytes`);
}

class ArchiveBomb extends Error {
  override readonly name = "ArchiveBomb";
}

/** Whether the content is at fault, and not the disk or the registry: our own words for it, zlib's, or a bomb. */
function isDamage(error: unknown): error is Error {
  if (error instanceof ImgmatchError) return error.code === "IMAGE_INVALID";
  if (error instanceof ArchiveBomb) return true;
  const code = error instanceof Error && "code" in error ? error.code : null;
  return typeof code === "string" && /^(Z_|ERR_ZSTD|ZSTD_)/.test(code);
}

export function isTar(head: Uint8Array): boolean {
  return Buffer.from(head.subarray(257, 262)).toString("latin1") === "ustar";
}
