/** The kept part of a file that tells a loader where libraries are. */

import { confPath } from "./ld-conf.ts";
import { maxCache, readLdCache } from "./ld-cache.ts";
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
