/** Finds the files of an image that the distribution's packages brought and nobody changed. */

import type { Checksums } from "../checksums.ts";
import type { L4tRecord } from "../nvidia/l4t-release.ts";

/** The entries of one file of a package database. */
export interface PackageRecords {
  /** Packages that the distribution maintains, by the names of their lists of files: `libc6:amd64`. */
  readonly distribution: readonly string[];
  /** Package → path without a leading slash → `md5:…`, `sha1:…` or `sha256:…`. */
  readonly files: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Traces of L4T, which binds an image to its release. */
  readonly l4t?: readonly L4tRecord[];
  /** Wheels that were installed. */
  readonly wheels?: readonly InstalledWheel[];
  /** The package whose installer wrote this file, with its files. */
  readonly installed?: InstalledPackage;
  /** Why the database was not read: its packages' files count as the image's own. */
  readonly unread?: string;
}

export interface InstalledWheel {
  /** The folder of its package by its name, without a leading slash: `lib/python3.12/site-packages/debugpy`. Some wheels have another folder. */
  readonly folder: string;
  /** Its tags name no platform. */
  readonly isForAny: boolean;
}

/** A package by its installer's own list: `RECORD` of Python, `conda-meta`. */
export interface InstalledPackage {
  readonly name: string;
  readonly version: string;
  /** Where it is installed, without a leading slash: `lib/python3.12/site-packages`. Empty for the root. */
  readonly folder: string;
  /** Relative to `folder`. Without modules of Python's text. */
  readonly files: readonly string[];
}

/**
 * Returns a function that answers the distribution's package that brought a file unchanged; null for other files.
 *
 * `lib/x` and `usr/lib/x` are one path: `/lib` leads to `/usr/lib` in most distributions, but databases have either. A file that two packages
 * claim belongs to one package.
 */
export function unchangedFiles(records: readonly PackageRecords[]) {
  const distribution = new Set(records.flatMap((each) => each.distribution));
  const known = new Map<string, string>();
  for (const { files } of records)
    for (const [name, own] of Object.entries(files)) {
      if (!distribution.has(name)) continue;
      for (const [path, checksum] of Object.entries(own)) known.set(`${keyOf(path)} ${checksum}`, name);
    }
  return (path: string, checksums: Checksums): string | null => {
    for (const kind of ["md5", "sha1", "sha256"] as const) {
      if (checksums[kind] === null) continue;
      const name = known.get(`${keyOf(path)} ${kind}:${checksums[kind]}`);
      if (name !== undefined) return name;
    }
    return null;
  };
}

function keyOf(path: string): string {
  return path.replace(/^\/?(?:usr\/(?=(?:s?bin|lib\w*)\/))?/, "");
}

/** True for a path that a package may have brought. It has no leading slash. */
export function mayBePackaged(path: string): boolean {
  return /^(?:bin|sbin|lib\w*|usr(?!\/local\/)|boot|etc|var)\//.test(path);
}
