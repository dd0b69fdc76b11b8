/**
 * Images that `clang -fgpu-rdc` and OpenMP leave in `.llvm.offloading`: one image with its words, as LLVM 22.1.8 writes it
 * (llvm/include/llvm/Object/OffloadBinary.h).
 */

import { type ByteSource, readExactly } from "../byte-source.ts";
import { textAt, u64 } from "../little-endian.ts";
import { type AmdImage, imageHead, readAmdImage } from "./code-object.ts";

/** With version 1, the only one that LLVM 22 reads. */
export const offloadMagic = Buffer.of(0x10, 0xff, 0x10, 0xad, 1, 0, 0, 0);
const header = 32;
const entrySize = 40;
const maxStrings = 16;

export interface OffloadBinary {
  readonly size: number;
  readonly image: AmdImage;
}

/** null where none begins, and for one whose image is not for AMD GPUs. */
export function readOffloadBinary(source: ByteSource, at: number): OffloadBinary | null {
  const head = readExactly(source, at, header);
  if (head === null || !offloadMagic.equals(head.subarray(0, offloadMagic.length))) return null;
  const size = u64(head, 8);
  const entry = size > source.size - at ? null : readExactly(source, at + u64(head, 16), entrySize);
  if (entry === null || u64(head, 24) !== entrySize) return null;
  const [imageAt, imageSize] = [u64(entry, 24), u64(entry, 32)];
  const bytes = imageAt + imageSize > size ? null : source.read(at + imageAt, Math.min(imageSize, imageHead));
  const image = bytes === null ? null : readAmdImage(bytes, tripleOf(source, at, entry));
  return image === null ? null : { size, image };
}

function tripleOf(source: ByteSource, at: number, entry: Uint8Array): string {
  const count = Math.min(u64(entry, 16), maxStrings);
  const table = source.read(at + u64(entry, 8), count * 16);
  const text = (place: number) => textAt(source.read(at + place, 64), 0);
  for (let next = 0; next < table.length; next += 16)
    if (text(u64(table, next)) === "triple") return text(u64(table, next + 8));
  return "";
}
