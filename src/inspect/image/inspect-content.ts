/** Opens what a file of an image holds: code, or an archive with code in it, to a bound. */

import { ImgmatchError } from "../../errors.ts";
import { headBytes, holdsCode } from "../holds-code.ts";
import { sourceOf } from "../spooled-file.ts";
import { type Chunks, createChunkReader } from "./chunk-reader.ts";
import { compressionBy, decompressed } from "./decompress.ts";
import type { ContentSink } from "./opened-file.ts";
import { maxSpool, spool, withSpooled } from "./spool.ts";
import { readTar } from "./tar.ts";
import { isZip, openZipEntry, readZip } from "./zip.ts";

/** What is left of what the archives of one layer may unpack to, and of the names in them, both in bytes and all together. */
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
/** Formats that hold programs and are not read: name → mark at the beginning. */
const closed = [
  ["xz", [0xfd, 0x37, 0x7a, 0x58, 0x5a]],
  ["bzip2", [0x42, 0x5a, 0x68]],
  ["7-Zip", [0x37, 0x7a, 0xbc, 0xaf, 0x27]],
  ["RPM", [0xed, 0xab, 0xee, 0xdb]],
  ["squashfs", [0x68, 0x73, 0x71, 0x73]],
  ["ar", [0x21, 0x3c, 0x61, 0x72, 0x63, 0x68, 0x3e, 0x0a]],
] as const;
/** A static library or a compressed manual page is no program: only packages and archives of files are missed. */
const packageNames = /\.(deb|rpm|7z|squashfs|snap|AppImage|tar\.\w+|t[bx]z2?|txz)$/;

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
  if (holdsCode(head)) return openFile(path, whole, sink);
  const compression = compressionBy(head);
  const isArchive = isZip(head) || isTar(head) || compression !== null;
  if (!isArchive) {
    const format = closed.find(([, mark]) => mark.every((byte, index) => head[index] === byte))?.[0];
    if (format !== undefined && packageNames.test(name))
      sink.unopened(path, `an archive of a format that is not read (${format})`);
    return;
  }
  if (depth >= maxDepth) {
    sink.unopened(path, `an archive inside ${maxDepth} others`);
    return;
  }
  try {
    if (isZip(head)) await openZip(path, whole, own, depth);
    else if (isTar(head)) await openTar(path, whole, own, depth);
    else await openBytes(path, within(own, decompressed(whole, compression, path)), own, name, depth + 1);
  } catch (error) {
    if (!isDamage(error)) throw error;
    sink.unopened(path, error.message.replace(/^[A-Z_]+: /, ""));
  }
}

async function openFile(path: string, chunks: Chunks, sink: ContentSink): Promise<void> {
  const file = await spool(chunks);
  if (file === null) sink.unopened(path, `longer than ${maxSpool} bytes`);
  else await sink.file(path, file);
}

async function openZip(path: string, chunks: Chunks, own: Opening, depth: number) {
  const { sink } = own;
  const isOpened = await withSpooled(chunks, async (file) => {
    const source = sourceOf(file);
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
    return true;
  });
  if (isOpened === null) sink.unopened(path, `longer than ${maxSpool} bytes`);
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

/** What the content does, and not the disk or the registry: our own words for it, zlib's, or a bomb. */
function isDamage(error: unknown): error is Error {
  if (error instanceof ImgmatchError) return error.code === "IMAGE_INVALID";
  if (error instanceof ArchiveBomb) return true;
  const code = error instanceof Error && "code" in error ? error.code : null;
  return typeof code === "string" && /^(Z_|ERR_ZSTD|ZSTD_)/.test(code);
}

function isTar(head: Uint8Array): boolean {
  return Buffer.from(head.subarray(257, 262)).toString("latin1") === "ustar";
}
