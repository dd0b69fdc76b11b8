/** One layer, opened: what its files hold, and what it does to the files below. */

import type { FileInspection } from "../inspect-file.ts";
import { unpacked } from "./decompress.ts";
import { type Chunks, createChunkReader } from "./chunk-reader.ts";
import { databaseReader, maxDatabase } from "../packages/databases.ts";
import type { PackageRecords } from "../packages/package-records.ts";
import { archiveBudget, type ContentSink, inspectContent } from "./inspect-content.ts";
import { invalidImage } from "./invalid-image.ts";
import { readTar } from "./tar.ts";

/** In the order of the archive, as the last entry of a path counts. Everything but directories is here. */
export interface LayerInspection {
  readonly changes: readonly LayerChange[];
  /** Unpacked, in bytes. */
  readonly size: number;
}

export type LayerChange =
  | { readonly kind: "file"; readonly path: string; readonly opened?: OpenedFile }
  | { readonly kind: "hardlink" | "symlink"; readonly path: string; readonly target: string }
  /** `opaque`: what lower layers have in the folder is gone. */
  | { readonly kind: "removed" | "opaque"; readonly path: string };

/** What stands at a path, and in archives there: `app.jar!/lib/x.so`. */
export interface OpenedFile {
  readonly files: Readonly<Record<string, FileInspection>>;
  readonly unopened: Readonly<Record<string, string>>;
  /** Of a file of a package database. */
  readonly packages?: PackageRecords;
}

/** One layer of a hostile image unpacks to no more than this. */
const maxLayer = 2 ** 40;
/** A million files with names of 128 letters. */
const maxNames = 128 * 2 ** 20;
const whiteout = ".wh.";
const opaque = ".wh..wh..opq";

/** `name` is what an error calls the layer. `onBytes` hears of every piece of it, unpacked. Throws `IMAGE_INVALID`. */
export async function inspectLayer(
  chunks: Chunks,
  name: string,
  onBytes: (count: number) => void = () => {},
): Promise<LayerInspection> {
  let size = 0;
  const counted = async function* (): Chunks {
    for await (const chunk of unpacked(chunks, name)) {
      size += chunk.length;
      if (size > maxLayer) throw invalidImage(`${name}: unpacks to more than ${maxLayer} bytes`);
      onBytes(chunk.length);
      yield chunk;
    }
  };
  const changes: LayerChange[] = [];
  const budget = archiveBudget();
  let names = 0;
  for await (const entry of readTar(counted(), name)) {
    names += entry.path.length + entry.target.length;
    if (names > maxNames) throw invalidImage(`${name}: its names have more than ${maxNames} bytes`);
    const path = normalPath(entry.path);
    const slash = path.lastIndexOf("/");
    const [folder, base] = [path.slice(0, Math.max(slash, 0)), path.slice(slash + 1)];
    if (base === opaque) changes.push({ kind: "opaque", path: folder });
    else if (base.startsWith(whiteout))
      changes.push({ kind: "removed", path: removedBy(folder, base, name) });
    else if (entry.type === "hardlink")
      changes.push({ kind: "hardlink", path, target: normalPath(entry.target) });
    else if (entry.type === "symlink") changes.push({ kind: "symlink", path, target: entry.target });
    else if (entry.type !== "directory") {
      const { sink, opened } = collect();
      const database = entry.type === "file" && entry.size <= maxDatabase ? databaseReader(path) : null;
      if (entry.isSparse) sink.unopened("", "a sparse file");
      else if (database !== null) sink.packages(database(await wholeText(entry.content, entry.size)));
      else if (entry.type === "file") await inspectContent("", entry.content, sink, budget, path);
      const found = opened();
      changes.push({ kind: "file", path, ...(found === null ? {} : { opened: found }) });
    }
  }
  return { changes, size };
}

/** Engines differ in what they do about a whiteout of `.` or `..`, and nobody makes one. */
function removedBy(folder: string, base: string, name: string): string {
  const removed = base.slice(whiteout.length);
  if (removed === "" || removed === "." || removed === "..")
    throw invalidImage(`${name}: ${join(folder, base)} removes no file that has a name`);
  return join(folder, removed);
}

async function wholeText(chunks: Chunks, size: number): Promise<string> {
  return Buffer.from(await createChunkReader(chunks).take(size)).toString("utf8");
}

interface FileSink extends ContentSink {
  packages(records: PackageRecords): void;
}

/** Names inside are relative to the file: a hard link has the same under another name. */
export function collect(): { sink: FileSink; opened: () => OpenedFile | null } {
  const files = new Map<string, FileInspection>();
  const unopened = new Map<string, string>();
  let packages: PackageRecords | undefined;
  return {
    sink: {
      file: (path, inspection) => files.set(path, inspection),
      unopened: (path, reason) => unopened.set(path, reason),
      packages: (records) => {
        packages = records;
      },
    },
    opened: () =>
      files.size + unopened.size === 0 && packages === undefined
        ? null
        : {
            files: Object.fromEntries(files),
            unopened: Object.fromEntries(unopened),
            ...(packages === undefined ? {} : { packages }),
          },
  };
}

/** Without `.`, empty parts and ways out of the image: a `..` at the root leads to the root, as in a chroot. */
export function normalPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts.join("/");
}

function join(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}
