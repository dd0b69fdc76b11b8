/** Which files of an image are those that the distribution's packages brought, byte by byte. */

import type { Checksums } from "../checksums.ts";

/** The entries of one file of a package database about files. */
export interface PackageRecords {
  /** Packages that the distribution itself maintains, by the name that its list of files has: `libc6:amd64`. */
  readonly distribution: readonly string[];
  /** Package → path without a leading slash → `md5:…`, `sha1:…` or `sha256:…`. */
  readonly files: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Why a database was not read, so that the files of its packages count. */
  readonly unread?: string;
}

/** The package of the distribution that brought this very file, or null. */
export type FindPackage = (path: string, checksums: Checksums) => string | null;

/**
 * A path counts with and without `usr/` in front, as `/lib` leads to `/usr/lib` in most distributions and their databases were
 * slow to follow. A file that two packages claim is either's.
 */
export function unchangedFiles(records: readonly PackageRecords[]): FindPackage {
  const distribution = new Set(records.flatMap((each) => each.distribution));
  const known = new Map<string, string>();
  for (const { files } of records)
    for (const [name, own] of Object.entries(files)) {
      if (!distribution.has(name)) continue;
      for (const [path, checksum] of Object.entries(own)) known.set(`${keyOf(path)} ${checksum}`, name);
    }
  return (path, checksums) => {
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

/** A path of an image, without a leading slash. */
export function mayBePackaged(path: string): boolean {
  return /^(?:bin|sbin|lib\w*|usr(?!\/local\/)|boot|etc|var)\//.test(path);
}
