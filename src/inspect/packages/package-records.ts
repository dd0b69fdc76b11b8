/** The entries of one file of a package database about files. */

export interface PackageRecords {
  /** Packages that the distribution itself maintains, by the name that its list of files has: `libc6:amd64`. */
  readonly distribution: readonly string[];
  /** Package → path without a leading slash → `md5:…`, `sha1:…` or `sha256:…`. */
  readonly files: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Why a database was not read, so that the files of its packages count. */
  readonly unread?: string;
}
