/** Collects what one path of an image holds: programs, archives with programs, a package database, settings of the loader. */

import { once } from "../../io/collections.ts";
import { type ClaimFile, claimReader, maxClaim } from "../claims/claim-files.ts";
import type { FileInspection } from "../file-inspection.ts";
import { type LoaderRecord, loaderReader, scriptRecord } from "../loader/loader-record.ts";
import { databaseReader } from "../packages/databases.ts";
import { namedCode } from "../packages/named-code.ts";
import { mayBePackaged, type PackageRecords } from "../packages/unchanged-files.ts";
import type { FileInspector } from "../workers/file-inspector.ts";
import type { SpooledFile } from "./spool.ts";

/** The code at a path, and in archives there: `app.jar!/lib/x.so`. */
export interface OpenedFile {
  readonly files: Readonly<Record<string, FileInspection>>;
  readonly unopened: Readonly<Record<string, string>>;
  /** The entries of a package database. */
  readonly packages?: PackageRecords;
  /** The settings of a file that tells a loader where libraries are. */
  readonly loader?: LoaderRecord;
  /** Names of code in modules of Python, by their paths: `jitlink.ptx`. */
  readonly named?: Readonly<Record<string, readonly string[]>>;
  /** What packages say of themselves, by the path of the file that says it. */
  readonly claims?: Readonly<Record<string, ClaimFile>>;
}

export interface ContentSink {
  /** Takes the file over. Waits until there is room for another. */
  file(path: string, file: SpooledFile): Promise<void>;
  unopened(path: string, reason: string): void;
  /** The text of a script at the path of the file itself. */
  script(text: string): void;
  /** The text of a module of Python. */
  python(path: string, text: string): void;
  /** A file with a claim, in an archive. */
  claim(path: string, bytes: Uint8Array): void;
}

/**
 * Collects the content of a path without a leading slash. Paths inside are relative to it, as a hard link has the same content under
 * another name. `opened` is null if nothing was found.
 */
export function collect(path: string, inspector: FileInspector) {
  const files: { readonly path: string; readonly found: Promise<FileInspection | null> }[] = [];
  const unopened = new Map<string, string>();
  const records: { packages?: PackageRecords; loader?: LoaderRecord } = {};
  const named = new Map<string, readonly string[]>();
  const claims = new Map<string, ClaimFile>();
  const isEmpty = () => unopened.size + named.size + claims.size + Object.keys(records).length === 0;
  const keep = (loader: LoaderRecord | null) => {
    if (loader !== null) records.loader = loader;
  };
  const opened = async (): Promise<OpenedFile | null> => {
    const found = new Map<string, FileInspection>();
    for (const { path, found: inspection } of files) {
      const one = await inspection;
      if (one !== null) found.set(path, one);
    }
    if (found.size === 0 && isEmpty()) return null;
    return {
      files: Object.fromEntries(found),
      unopened: Object.fromEntries(unopened),
      ...records,
      ...(named.size > 0 && { named: Object.fromEntries(named) }),
      ...(claims.size > 0 && { claims: Object.fromEntries(claims) }),
    };
  };
  const claim = (inner: string, bytes: Uint8Array) => {
    const found = claimReader(inner === "" ? path : inner)?.(bytes) ?? null;
    if (found !== null) claims.set(inner, found);
  };
  const sink: ContentSink = {
    claim,
    async file(inner, file) {
      const { accepted, found } = inspector.inspect(file, inner === "" && mayBePackaged(path));
      // `opened` throws the error, unless the image turns out to be broken first.
      found.catch(() => {});
      files.push({ path: inner, found });
      await accepted;
    },
    unopened: (path, reason) => unopened.set(path, reason),
    script: (text) => keep(scriptRecord(text)),
    python: (inner, text) => {
      const names = namedCode(text);
      if (names.length > 0) named.set(inner, names);
    },
  };
  return {
    sink,
    /** Reads a package database, a file of the loader, or a package's claim. False for any other file. */
    async readKnown(size: number, content: () => Promise<Uint8Array>): Promise<boolean> {
      const whole = once(content);
      const database = databaseReader(path, size);
      const loader = database === null ? loaderReader(path, size) : null;
      const isClaim = size <= maxClaim && claimReader(path) !== null;
      if (database !== null) records.packages = await database(whole);
      else if (loader !== null) keep(loader(await whole()));
      if (isClaim) claim("", await whole());
      return database !== null || loader !== null || isClaim;
    },
    opened: () => (files.length === 0 && isEmpty() ? null : opened()),
  };
}
