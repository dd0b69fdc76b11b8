/**
 * Reads compressed bundles: `CCOB`, version, method, sizes, and a bundle in one frame of zlib or zstd. Layout: LLVM 22.1.8,
 * llvm/lib/Object/OffloadBundle.cpp (CompressedOffloadBundle); all three versions were measured.
 */

import { inflateSync } from "node:zlib";
import type { ByteSource } from "../byte-source.ts";
import { u16, u32, u64 } from "../little-endian.ts";
import { inflateZstd } from "../zstd-frame.ts";

export const compressedMagic = Buffer.from("CCOB");
/** Bytes of the longest header. */
const compressedHead = 32;

/** The largest bundle that was seen has 171 MB: a file of Debian's libhipblaslt1 7.1.1. */
const maxPlain = 256 * 2 ** 20;
/** Bundles of libraries unpack to 67 times their size at most. */
const maxRatio = 128;
/** Those of empty kernels unpack to more: so many bytes are always allowed. */
const freePlain = 16 * 2 ** 20;
/** A try costs as much as so many bytes, also of a frame that is damaged. */
const leastCost = 2 ** 16;

export function isCompressedBundle(head: Uint8Array): boolean {
  return readHeader(head) !== null;
}

/** `total` counts the bytes with the header; null in version 1, which does not tell. */
function readHeader(head: Uint8Array) {
  if (!compressedMagic.equals(head.subarray(0, 4)) || head.length < compressedHead || u16(head, 6) > 1)
    return null;
  switch (u16(head, 4)) {
    case 1:
      return { bytes: 20, total: null, plain: u32(head, 8) };
    case 2:
      return { bytes: 24, total: u32(head, 8), plain: u32(head, 12) };
    case 3:
      return { bytes: 32, total: u64(head, 8), plain: u64(head, 16) };
    default:
      return null;
  }
}

/**
 * The bundle that begins at a place; null if none does. `bytes` is its size in the file, as far as the header tells. `plain` is its content; null
 * if the content could not be decompressed, and `damage` tells why. `budget` is the bytes that bundles of the file may still be decompressed to.
 */
export function readCompressedBundle(source: ByteSource, at: number, budget: { left: number }) {
  const head = source.read(at, compressedHead);
  const header = readHeader(head);
  if (header === null) return null;
  const rest = source.size - at;
  const { bytes, plain, total } = header;
  const taken = Math.min(total ?? bytes, rest);
  const refused = (why: string) => ({
    bytes: taken,
    plain: null,
    damage: [`the compressed bundle of GPU code at ${at} ${why}`],
  });
  if (total !== null && (total > rest || total < bytes))
    return refused(`claims ${total} bytes, its file has ${rest}`);
  const most = Math.min((total ?? rest) - bytes, plain + (plain >> 8) + 512);
  // Looked at first: what is refused costs no more than its header.
  if (plain > maxPlain || plain > freePlain + maxRatio * most || plain > budget.left)
    return refused(`would be ${plain} bytes, and is not read`);
  const packed = source.read(at + bytes, most);
  budget.left -= Math.max(plain, leastCost);
  const found = u16(head, 6) === 0 ? inflateZlib(packed, plain) : inflateZstd(packed, plain);
  if (found === null) return refused("is damaged");
  return { bytes: total ?? bytes + found.used, plain: found.plain, damage: [] };
}

function inflateZlib(packed: Uint8Array, size: number): { plain: Uint8Array; used: number } | null {
  try {
    // With `info` zlib also returns the engine, which counts the input (nodejs.org/api/zlib.html, "Class: Options").
    const { buffer, engine } = inflateSync(packed, {
      info: true,
      maxOutputLength: Math.max(1, size),
    }) as unknown as { readonly buffer: Uint8Array; readonly engine: { readonly bytesWritten: number } };
    return buffer.length === size ? { plain: buffer, used: engine.bytesWritten } : null;
  } catch {
    return null;
  }
}
