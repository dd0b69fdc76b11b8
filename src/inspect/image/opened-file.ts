/** The content of one path of an image: a program, an archive with programs in it, a package database. */

import type { FileInspection } from "../file-inspection.ts";
import { type LoaderRecord, scriptRecord } from "../loader/loader-record.ts";
import type { PackageRecords } from "../packages/unchanged-files.ts";
import { mayBePackaged } from "../packages/unchanged-files.ts";
import type { FileInspector } from "../workers/file-inspector.ts";
import type { SpooledFile } from "./spool.ts";

/** The code at a path, and in archives there: `app.jar!/lib/x.so`. */
export interface OpenedFile {
  readonly files: Readonly<Record<string, FileInspection>>;
  readonly unopened: Readonly<Record<string, string>>;
  /** Of a file of a package database. */
  readonly packages?: PackageRecords;
  /** Of a file that tells a loader where libraries are. */
  readonly loader?: LoaderRecord;
}

export interface ContentSink {
  /** Takes the file over. Waits until there is room for another. */
  file(path: string, file: SpooledFile): Promise<void>;
  unopened(path: string, reason: string): void;
  /** The text of a script at the path of the file itself. */
  script(text: string): void;
}

export interface FileSink extends ContentSink {
  packages(records: PackageRecords): void;
  loader(record: LoaderRecord | null): void;
}

/**
 * Of the file at a path without a leading slash. Names inside are relative to it, as a hard link has the same under another name.
 * `opened` is null where there is nothing to tell.
 */
export function collect(
  path: string,
  inspector: FileInspector,
): {
  sink: FileSink;
  opened: () => Promise<OpenedFile | null> | null;
} {
  const files: { readonly path: string; readonly found: Promise<FileInspection | null> }[] = [];
  const unopened = new Map<string, string>();
  const records: { packages?: PackageRecords; loader?: LoaderRecord } = {};
  const isEmpty = () => unopened.size + Object.keys(records).length === 0;
  const opened = async (): Promise<OpenedFile | null> => {
    const found = new Map<string, FileInspection>();
    for (const { path, found: inspection } of files) {
      const one = await inspection;
      if (one !== null) found.set(path, one);
    }
    if (found.size === 0 && isEmpty()) return null;
    return { files: Object.fromEntries(found), unopened: Object.fromEntries(unopened), ...records };
  };
  return {
    sink: {
      async file(inner, file) {
        const { accepted, found } = inspector.inspect(file, inner === "" && mayBePackaged(path));
        // Told by `opened`, or by nobody where the image turns out to be broken.
        found.catch(() => {});
        files.push({ path: inner, found });
        await accepted;
      },
      unopened: (path, reason) => unopened.set(path, reason),
      script(text) {
        if (records.loader === undefined) this.loader(scriptRecord(text));
      },
      loader(loader) {
        if (loader !== null) records.loader = loader;
      },
      packages(packages) {
        records.packages = packages;
      },
    },
    opened: () => (files.length === 0 && isEmpty() ? null : opened()),
  };
}
