/** Which files `/etc/ld.so.cache` names for a library, in its order. Source: glibc, `sysdeps/generic/dl-cache.h`. */

import { textAt, u32 } from "../little-endian.ts";

const mark = "glibc-ld.so.cache1.1";
const oldMark = "ld.so-1.7.0\0";
const [headBytes, entryBytes, oldHeadBytes, oldEntryBytes] = [48, 24, 16, 12] as const;

/** A cache of 20,000 libraries has about 3 MB. */
export const maxCache = 16 * 2 ** 20;

/** `FLAG_X8664_LIB64`, `FLAG_AARCH64_LIB64`: other entries are for programs of another word size. */
const wordSizes: ReadonlySet<number> = new Set([0x03, 0x0a]);

/** null for what is no cache. Entries that point outside it are none. */
export function readLdCache(bytes: Uint8Array, library: string): readonly string[] | null {
  const at =
    bytes.length > maxCache ? -1 : Buffer.from(bytes.subarray(0, maxCache)).indexOf(mark, 0, "latin1");
  // An older cache may stand before it, which begins with a mark of its own.
  if (at < 0 || (at > 0 && !beginsOld(bytes)) || bytes.length < at + headBytes) return null;
  const cache = bytes.subarray(at);
  const count = Math.min(u32(cache, 20), Math.floor((cache.length - headBytes) / entryBytes));
  const found: string[] = [];
  for (let entry = 0; entry < count; entry++) {
    const place = headBytes + entry * entryBytes;
    if (!wordSizes.has(bytes[at + place + 1] ?? 0)) continue;
    const [key, value] = [u32(cache, place + 4), u32(cache, place + 8)];
    if (key >= cache.length || value >= cache.length) continue;
    if (textAt(cache, key, 256) !== library) continue;
    const path = textAt(cache, value, 4096);
    if (path.startsWith("/")) found.push(path);
    if (found.length >= 100) break;
  }
  return found;
}

function beginsOld(bytes: Uint8Array): boolean {
  return (
    bytes.length >= oldHeadBytes + oldEntryBytes &&
    Buffer.from(bytes.subarray(0, oldMark.length)).toString("latin1") === oldMark
  );
}
