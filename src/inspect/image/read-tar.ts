/**
 * Reads a tar stream entry by entry. Sources: POSIX.1-2024 pax interchange format; GNU tar manual, "Basic Tar Format" (long names,
 * numbers in base 256). Nothing is written to a disk, so that names can do no harm.
 */

import { type ChunkReader, type Chunks, createChunkReader } from "./chunks.ts";
import { invalidImage } from "./invalid-image.ts";

export interface TarEntry {
  readonly path: string;
  readonly type: "file" | "hardlink" | "symlink" | "directory" | "other";
  /** Bytes of the content, 0 for all but files. */
  readonly size: number;
  /** Target of a link. */
  readonly target: string;
  /** The content of GNU's sparse files is no plain content. */
  readonly isSparse: boolean;
  /** A reader may stop at any time: the rest is skipped. */
  readonly content: Chunks;
}

const blockSize = 512;
/** pax records hold extended attributes too. */
const maxExtension = 2 ** 20;
/** `PATH_MAX` of Linux. */
const maxPath = 4096;
/** The largest real layers have 300,000. An entry costs a tenth of a millisecond. */
const maxTarEntries = 500_000;

const types: Readonly<Record<string, TarEntry["type"]>> = {
  "\0": "file",
  "0": "file",
  "7": "file",
  "1": "hardlink",
  "2": "symlink",
  "5": "directory",
};

interface Extension {
  path?: string | undefined;
  target?: string | undefined;
  size?: number | undefined;
  isSparse?: boolean;
}

/** Errors call the stream `name`. Throws `IMAGE_INVALID`. */
export async function* readTar(chunks: Chunks, name: string): AsyncGenerator<TarEntry> {
  const reader = createChunkReader(chunks);
  try {
    yield* entries(reader, name);
  } finally {
    await reader.close();
  }
}

async function* entries(reader: ChunkReader, name: string): AsyncGenerator<TarEntry> {
  let next: Extension = {};
  let always: Extension = {};
  for (let count = 0; ; ) {
    const header = await reader.take(blockSize);
    // The end is two empty blocks; many writers leave one, or none.
    if (header.length === 0 || header.every((byte) => byte === 0)) return;
    if (header.length < blockSize || !isChecked(header))
      throw invalidImage(`${name}: entry ${count + 1} of the archive has no tar header`);
    if (++count > maxTarEntries) throw invalidImage(`${name}: more than ${maxTarEntries} entries`);
    const kind = String.fromCharCode(header[156] ?? 0);
    const ownSize = number(header.subarray(124, 136));
    if (!Number.isSafeInteger(ownSize) || ownSize < 0)
      throw invalidImage(`${name}: entry ${count} of the archive claims ${ownSize} bytes`);
    if (kind === "x" || kind === "g" || kind === "L" || kind === "K") {
      if (ownSize > maxExtension)
        throw invalidImage(`${name}: entry ${count} has a name of ${ownSize} bytes`);
      const bytes = await reader.take(ownSize);
      if (bytes.length < ownSize) throw cutOff(name);
      await skip(reader, padding(ownSize));
      if (kind === "L" || kind === "K") {
        next = { ...next, [kind === "L" ? "path" : "target"]: text(bytes) };
        continue;
      }
      const records = paxRecords(bytes);
      if (records === null) throw invalidImage(`${name}: entry ${count} has damaged pax records`);
      if (kind === "g") always = { ...always, ...records };
      else next = { ...next, ...records };
      continue;
    }
    const extension = { ...always, ...next };
    next = {};
    const path = extension.path ?? ustarPath(header);
    const target = extension.target ?? text(header.subarray(157, 257));
    if (Buffer.byteLength(path) > maxPath || Buffer.byteLength(target) > maxPath)
      throw invalidImage(`${name}: entry ${count} has a name of more than ${maxPath} bytes`);
    const size = extension.size ?? ownSize;
    const type = types[kind] ?? "other";
    // Old writers give links their target's size, and no content.
    let left = type === "file" || type === "other" ? size : 0;
    const behind = padding(left);
    const content = (async function* () {
      while (left > 0) {
        const piece = await reader.next(left);
        if (piece === null) throw cutOff(name);
        left -= piece.length;
        yield piece;
      }
    })();
    yield {
      path,
      type,
      size: type === "file" ? size : 0,
      target,
      isSparse: kind === "S" || extension.isSparse === true,
      content,
    };
    // The reader may have stopped anywhere, also at a damage of the file.
    const unread = left;
    left = 0;
    if ((await skip(reader, unread)) < unread) throw cutOff(name);
    // Not every writer fills the last block.
    await skip(reader, behind);
  }
}

/** Returns how many bytes were there. */
async function skip(reader: ChunkReader, length: number): Promise<number> {
  let skipped = 0;
  for await (const piece of reader.pass(length)) skipped += piece.length;
  return skipped;
}

function cutOff(name: string): Error {
  return invalidImage(`${name}: ends in the middle of an entry`);
}

function padding(size: number): number {
  return (blockSize - (size % blockSize)) % blockSize;
}

function isChecked(header: Uint8Array): boolean {
  let sum = 0;
  for (let index = 0; index < header.length; index++)
    sum += index >= 148 && index < 156 ? 32 : (header[index] ?? 0);
  return sum === number(header.subarray(148, 156));
}

/** Octal digits, or base 256 where the first bit is set. */
function number(field: Uint8Array): number {
  if (((field[0] ?? 0) & 0x80) !== 0)
    return field.reduce((value, byte, index) => value * 256 + (index === 0 ? byte & 0x7f : byte), 0);
  const digits = text(field).trim();
  return /^[0-7]*$/.test(digits) ? Number.parseInt(digits || "0", 8) : Number.NaN;
}

function ustarPath(header: Uint8Array): string {
  const name = text(header.subarray(0, 100));
  const isUstar = text(header.subarray(257, 262)) === "ustar" && header[263] !== 0x20;
  const prefix = isUstar ? text(header.subarray(345, 500)) : "";
  return prefix === "" ? name : `${prefix}/${name}`;
}

/**
 * Reads records `length key=value\n`. null for anything else: a lost name or length would change every file behind. Each record ends
 * behind its own `=`, so that none is empty.
 */
function paxRecords(bytes: Uint8Array): Extension | null {
  const found: Extension = {};
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(0x20, at);
    const digits = space === -1 ? "" : text(bytes.subarray(at, space));
    const end = /^\d{1,9}$/.test(digits) ? at + Number(digits) : 0;
    const equals = bytes.subarray(0, end).indexOf(0x3d, space + 1);
    if (end > bytes.length || equals === -1 || bytes[end - 1] !== 0x0a) return null;
    const key = text(bytes.subarray(space + 1, equals));
    const value = text(bytes.subarray(equals + 1, end - 1));
    // An empty value takes the key back: the header counts again.
    if (key === "size" && !/^\d{0,15}$/.test(value)) return null;
    if (key === "path") found.path = value || undefined;
    else if (key === "linkpath") found.target = value || undefined;
    else if (key === "size") found.size = value === "" ? undefined : Number(value);
    else if (key.startsWith("GNU.sparse.")) found.isSparse = true;
    at = end;
  }
  return found;
}

function text(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return Buffer.from(bytes.buffer, bytes.byteOffset, end === -1 ? bytes.length : end).toString("utf8");
}

export function isTar(head: Uint8Array): boolean {
  return Buffer.from(head.subarray(257, 262)).toString("latin1") === "ustar";
}
