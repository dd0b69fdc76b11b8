/** Reads the files that tell a loader where libraries are. */

import { textAt, u32 } from "../little-endian.ts";
import { confPath } from "./ld-conf.ts";
import { maxScript, type PathSetting, pathSettings } from "./shell-path.ts";

export const driverLibrary = "libcuda.so.1";

export type LoaderRecord =
  /** The lines of `ld.so.conf`, or of a file that it includes. */
  | { readonly kind: "conf"; readonly lines: readonly string[] }
  /** The paths of libcuda in `ld.so.cache`. */
  | { readonly kind: "cache"; readonly libcuda: readonly string[] }
  | { readonly kind: "script"; readonly settings: readonly PathSetting[] };

const maxConf = 2 ** 16;

/** The reader of the loader's file at a path without a leading slash; null for any other file, and for a file that is too long. */
export function loaderReader(
  path: string,
  size: number,
): ((bytes: Uint8Array) => LoaderRecord | null) | null {
  if (confPath.test(path) && size <= maxConf)
    return (bytes) => ({ kind: "conf", lines: Buffer.from(bytes).toString("utf8").split(/\r?\n/) });
  if (path !== "etc/ld.so.cache" || size > maxCache) return null;
  return (bytes) => {
    const libcuda = readLdCache(bytes);
    return libcuda === null ? null : { kind: "cache", libcuda };
  };
}

/** null for a script without such settings. */
export function scriptRecord(text: string): LoaderRecord | null {
  const settings = text.length > maxScript ? [] : pathSettings(text);
  return settings.length === 0 ? null : { kind: "script", settings };
}

const mark = "glibc-ld.so.cache1.1";
const oldMark = "ld.so-1.7.0\0";
const [headBytes, entryBytes, oldHeadBytes, oldEntryBytes] = [48, 24, 16, 12] as const;

/** A cache of 20,000 libraries has about 3 MB. */
const maxCache = 16 * 2 ** 20;

/** `FLAG_X8664_LIB64`, `FLAG_AARCH64_LIB64`: other entries are for another word size. */
const wordSizes: ReadonlySet<number> = new Set([0x03, 0x0a]);

/**
 * The files that `/etc/ld.so.cache` names for libcuda, in its order (glibc, `sysdeps/generic/dl-cache.h`). null for a file that is no
 * cache. Entries that point outside it are left out.
 */
function readLdCache(bytes: Uint8Array): readonly string[] | null {
  const at = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf(mark, 0, "latin1");
  // An older cache with its own mark may stand before it.
  if (at < 0 || (at > 0 && !beginsOld(bytes)) || bytes.length < at + headBytes) return null;
  const cache = bytes.subarray(at);
  const count = Math.min(u32(cache, 20), Math.floor((cache.length - headBytes) / entryBytes));
  const found: string[] = [];
  for (let entry = 0; entry < count; entry++) {
    const place = headBytes + entry * entryBytes;
    if (!wordSizes.has(bytes[at + place + 1] ?? 0)) continue;
    const [key, value] = [u32(cache, place + 4), u32(cache, place + 8)];
    if (key >= cache.length || value >= cache.length) continue;
    if (textAt(cache, key, 256) !== driverLibrary) continue;
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
