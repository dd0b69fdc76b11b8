/** The kept part of a file that tells a loader where libraries are. */

import { textAt, u32 } from "../little-endian.ts";
import { confPath } from "./ld-conf.ts";
import { maxScript, type PathSetting, pathSettings } from "./shell-path.ts";

export const driverLibrary = "libcuda.so.1";

export type LoaderRecord =
  /** Lines of a file of `ld.so.conf`. */
  | { readonly kind: "conf"; readonly lines: readonly string[] }
  /** The path of libcuda in `ld.so.cache`. */
  | { readonly kind: "cache"; readonly libcuda: readonly string[] }
  | { readonly kind: "script"; readonly settings: readonly PathSetting[] };

const maxConf = 2 ** 16;

/** Reads the loader's file at a path of an image, without a leading slash; null for what is none, or too long for one. */
export function loaderReader(
  path: string,
  size: number,
): ((bytes: Uint8Array) => LoaderRecord | null) | null {
  if (confPath.test(path) && size <= maxConf)
    return (bytes) => ({ kind: "conf", lines: Buffer.from(bytes).toString("utf8").split(/\r?\n/) });
  if (path !== "etc/ld.so.cache" || size > maxCache) return null;
  return (bytes) => {
    const libcuda = readLdCache(bytes, driverLibrary);
    return libcuda === null ? null : { kind: "cache", libcuda };
  };
}

/** null for a script that says nothing of it. */
export function scriptRecord(text: string): LoaderRecord | null {
  const settings = text.length > maxScript ? [] : pathSettings(text);
  return settings.length === 0 ? null : { kind: "script", settings };
}

const mark = "glibc-ld.so.cache1.1";
const oldMark = "ld.so-1.7.0\0";
const [headBytes, entryBytes, oldHeadBytes, oldEntryBytes] = [48, 24, 16, 12] as const;

/** A cache of 20,000 libraries has about 3 MB. */
const maxCache = 16 * 2 ** 20;

/** `FLAG_X8664_LIB64`, `FLAG_AARCH64_LIB64`: other entries are for programs of another word size. */
const wordSizes: ReadonlySet<number> = new Set([0x03, 0x0a]);

/**
 * Which files `/etc/ld.so.cache` names for a library, in its order (glibc, `sysdeps/generic/dl-cache.h`). null for what is no cache.
 * Entries that point outside it are none.
 */
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
