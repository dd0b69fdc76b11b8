/**
 * Reads bundles of code objects, as clang-offload-bundler writes them. Layout: LLVM 22.1.8, clang/docs/ClangOffloadBundler.rst and
 * llvm/lib/Object/OffloadBundle.cpp. Only the table and the headers of the objects are read.
 */

import { type ByteSource, readExactly } from "../byte-source.ts";
import { textAt, u64 } from "../little-endian.ts";
import { type AmdImage, imageHead, readAmdImage } from "./code-object.ts";

export const bundleMagic = Buffer.from("__CLANG_OFFLOAD_BUNDLE__");
const header = bundleMagic.length + 8;
const entryHeader = 24;
/** Tables of sixty targets are the longest that were seen. */
const maxEntries = 2730;
const maxId = 1024;

export interface Bundle {
  readonly images: readonly (AmdImage & { readonly bytes: number })[];
  /** It holds more than AMD's code, or its table is damaged: the bytes behind its table must be searched. */
  readonly hasMore: boolean;
  /** The end of its table, or of the sound part of the table, counted from its beginning. No other bundle begins before. */
  readonly tableEnd: number;
  /** The end of its last object, counted from its beginning. */
  readonly end: number;
  /** The reasons why parts of it could not be read. */
  readonly damage: readonly string[];
}

/** Tells a bundle from the magic alone. Programs that read bundles hold the magic, too. */
export function isBundle(head: Uint8Array): boolean {
  if (!bundleMagic.equals(head.subarray(0, bundleMagic.length))) return false;
  const [count, length] = [u64(head, header - 8), u64(head, header + 16)];
  const isSane = count > 0 && count <= maxEntries && length > 0 && length <= maxId;
  // The first entry's id: `host-x86_64-unknown-linux-gnu-`.
  return isSane && /^[a-z][a-z0-9]*-/.test(textAt(head, header + entryHeader, Math.min(length, 16)));
}

/** An id with the magic in it could hide the bundle that begins there. */
const entryId = /^[a-z][a-z0-9]*-(?:(?!__CLANG)[!-~])*$/;

/** The bundle that begins a source; null without one. Messages call its place in the file `at`. */
export function readBundle(source: ByteSource, at: number): Bundle | null {
  const head = source.read(0, header + entryHeader + 16);
  if (!isBundle(head)) return null;
  const images: (AmdImage & { readonly bytes: number })[] = [];
  const damage: string[] = [];
  const count = u64(head, header - 8);
  let [next, end, hasMore] = [header, 0, false];
  for (let index = 0; index < count; index++) {
    const entry = readEntry(source, next);
    if (entry === null) {
      damage.push(`the table of the bundle of GPU code at ${at} is cut off`);
      hasMore = true;
      break;
    }
    const { id, offset, size } = entry;
    next = entry.end;
    if (size === 0 || id.startsWith("host-")) continue;
    const bytes = size > source.size - offset ? null : readExactly(source, offset, Math.min(size, imageHead));
    if (bytes === null) {
      damage.push(`the bundle of GPU code at ${at} claims an object of ${size} bytes beyond its end`);
      continue;
    }
    const image = readAmdImage(bytes, id);
    if (image === null) hasMore = true;
    else images.push({ ...image, bytes: size });
    end = Math.max(end, offset + size);
  }
  return { images, hasMore, tableEnd: next, end: Math.max(end, next), damage };
}

/** null for bytes that are no entry of a table. */
function readEntry(source: ByteSource, at: number) {
  const numbers = readExactly(source, at, entryHeader);
  const length = numbers === null ? 0 : u64(numbers, 16);
  const bytes = length > maxId ? null : readExactly(source, at + entryHeader, length);
  if (numbers === null || bytes === null) return null;
  const id = Buffer.from(bytes).toString("latin1");
  const end = at + entryHeader + length;
  return entryId.test(id) ? { id, offset: u64(numbers, 0), size: u64(numbers, 8), end } : null;
}

/** The last bytes are version 1, the only one that LLVM 22 reads. */
export const offloadMagic = Buffer.of(0x10, 0xff, 0x10, 0xad, 1, 0, 0, 0);
const binaryHeader = 32;
const binaryEntry = 40;
const maxStrings = 16;

/**
 * Reads an image with its strings from `.llvm.offloading`, where `clang -fgpu-rdc` and OpenMP leave images, in the form of LLVM 22.1.8
 * (llvm/include/llvm/Object/OffloadBinary.h). null if none begins there, or it is not for AMD GPUs.
 */
export function readOffloadBinary(source: ByteSource, at: number) {
  const head = readExactly(source, at, binaryHeader);
  if (head === null || !offloadMagic.equals(head.subarray(0, offloadMagic.length))) return null;
  const size = u64(head, 8);
  const entry = size > source.size - at ? null : readExactly(source, at + u64(head, 16), binaryEntry);
  if (entry === null || u64(head, 24) !== binaryEntry) return null;
  const [imageAt, imageSize] = [u64(entry, 24), u64(entry, 32)];
  const bytes = imageAt + imageSize > size ? null : source.read(at + imageAt, Math.min(imageSize, imageHead));
  const image = bytes === null ? null : readAmdImage(bytes, tripleOf(source, at, entry));
  return image === null ? null : { size, image: { ...image, bytes: imageSize } };
}

function tripleOf(source: ByteSource, at: number, entry: Uint8Array): string {
  const count = Math.min(u64(entry, 16), maxStrings);
  const table = source.read(at + u64(entry, 8), count * 16);
  const text = (place: number) => textAt(source.read(at + place, 64), 0);
  for (let next = 0; next < table.length; next += 16)
    if (text(u64(table, next)) === "triple") return text(u64(table, next + 8));
  return "";
}
