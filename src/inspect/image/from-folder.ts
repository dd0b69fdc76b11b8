/** Opens a root file system in a folder, or one file. No link is followed, no device is read. */

import { type Dirent, fstatSync, open, statSync } from "node:fs";
import { readdir, readlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { faultOf, ImgmatchError } from "../../errors.ts";
import { isErrno } from "../../io/files.ts";
import type { Digest } from "../../oci/digest.ts";
import { digestOf } from "../../oci/digest-of.ts";
import { headBytes, holdsCode } from "../file-inspection.ts";
import type { FileInspector } from "../workers/file-inspector.ts";
import { sharedInspector } from "../workers/thread-inspector.ts";
import { chunksOf, countedChunks } from "./chunks.ts";
import { type ArchiveBudget, archiveBudget } from "./archive-budget.ts";
import { inspectContent, inspectProgram } from "./inspect-content.ts";
import { type LayerInspection, layerChanges } from "./layer.ts";
import type { OpenedImage, OpenOptions } from "./open-layers.ts";
import { collect } from "./opened-file.ts";
import { closeSpooled, maxSpool, type SpooledFile, sourceOf } from "./spool.ts";

/** Files and folders that went away after their folder was read, before they were opened. */
interface Vanished {
  count: number;
}

/** Folders of a running system, which are not the image's. */
const notRead = new Set(["proc", "sys", "dev"]);

export function openFromFolder(folder: string, options: OpenOptions): Promise<OpenedImage> {
  return openFiles(
    folder,
    (onFolder, vanished) => filesBelow(folder, onFolder, vanished),
    { source: "folder", name: folder },
    options,
  );
}

/** A wheel, a library, an archive that is no image. */
export function openFromFile(path: string, options: OpenOptions): Promise<OpenedImage> {
  const named = { source: "file", name: path } as const;
  return openFiles(dirname(path), async () => [basename(path)], named, options);
}

async function openFiles(
  folder: string,
  pathsOf: (onFolder: () => void, vanished: Vanished) => Promise<readonly (string | FoundLink)[]>,
  named: Pick<OpenedImage, "source" | "name">,
  { cache, onProgress = () => {}, inspector = sharedInspector() }: OpenOptions,
): Promise<OpenedImage> {
  const began = Date.now();
  const vanished = { count: 0 };
  const found = await pathsOf(() => onProgress({ layer: 0, layers: 1, bytes: 0, total: null }), vanished);
  const { key, total } = await keyOf(folder, found, began);
  const known = key && (await cache.find(key));
  const { layer, isWhole } = known
    ? { layer: known, isWhole: false }
    : await openEach(folder, found, progressTo(onProgress, total), inspector, vanished);
  if (key !== null && isWhole) await cache.keep(key, layer);
  return {
    ...named,
    digest: null,
    platform: null,
    layers: [{ ...layer, digest: null }],
    diffIds: null,
    vanished: vanished.count,
  };
}

/** A file that was changed so shortly before may change again without another time. */
const shortestAgeMs = 2_000;

/** The key stands in the cache for the content of these files, by what git compares; null if later content could not be told from it. */
async function keyOf(
  folder: string,
  paths: readonly (string | FoundLink)[],
  began: number,
): Promise<{ readonly key: Digest | null; readonly total: number }> {
  let [text, total, isSettled] = ["", 0, true];
  for (const [index, path] of paths.entries()) {
    if (index % 1000 === 999) await new Promise(setImmediate);
    if (typeof path !== "string") {
      text += `\0${JSON.stringify(path)}\n`;
      continue;
    }
    const status = statSync(`${folder}/${path}`, { throwIfNoEntry: false });
    total += status?.size ?? 0;
    if (status === undefined || began - status.ctimeMs < shortestAgeMs) isSettled = false;
    if (!isSettled || status === undefined) continue;
    const { dev, ino, size, mtimeMs, ctimeMs } = status;
    // No path has a zero byte: no name of a file reads as two lines.
    text += `${path}\0${dev} ${ino} ${size} ${mtimeMs} ${ctimeMs}\n`;
  }
  return { key: isSettled ? digestOf(text) : null, total };
}

/** Gets the bytes that were read since the last call. */
function progressTo(onProgress: NonNullable<OpenOptions["onProgress"]>, total: number) {
  let bytes = 0;
  return (count: number) => {
    bytes += count;
    onProgress({ layer: 0, layers: 1, bytes, total });
  };
}

async function openEach(
  folder: string,
  paths: readonly (string | FoundLink)[],
  onBytes: (count: number) => void,
  inspector: FileInspector,
  vanished: Vanished,
): Promise<{ readonly layer: LayerInspection; readonly isWhole: boolean }> {
  const changes = layerChanges();
  const budget = archiveBudget();
  let size = 0;
  let isWhole = true;
  for (const path of paths) {
    if (typeof path !== "string") {
      changes.add({ kind: "symlink", ...path });
      continue;
    }
    const collected = collect(path, inspector);
    const file = await openFile(join(folder, path)).catch((error: unknown) => {
      // A file that this user may not read is reported. A file that is gone by now is counted.
      isWhole = false;
      if (isErrno(error, "ENOENT")) vanished.count++;
      else collected.sink.unopened("", faultOf(error));
      onBytes(0);
      return null;
    });
    if (file !== null) {
      size += file.size;
      await inspectOpen(file, path, collected, budget, onBytes);
    }
    changes.addFile(path, collected.opened());
  }
  return { layer: { changes: await changes.result(), size }, isWhole };
}

type OpenFile = Extract<SpooledFile, { kind: "open" }>;

async function openFile(path: string): Promise<OpenFile> {
  const descriptor = await promisify(open)(path, "r");
  return { kind: "open", descriptor, size: fstatSync(descriptor).size };
}

/** Inspects a program in its place on the disk, and everything else as a stream. */
async function inspectOpen(
  file: OpenFile,
  path: string,
  { sink, readKnown }: ReturnType<typeof collect>,
  budget: ArchiveBudget,
  onBytes: (count: number) => void,
): Promise<void> {
  let isTaken = false;
  try {
    const source = sourceOf(file);
    const isKnown = await readKnown(file.size, async () => source.read(0, file.size));
    isTaken = !isKnown && file.size <= maxSpool && holdsCode(source.read(0, headBytes));
    if (isTaken) await inspectProgram(file, sink, budget);
    else if (!isKnown) {
      await inspectContent("", countedChunks(chunksOf(source), onBytes), sink, budget, path);
      return;
    }
    onBytes(file.size);
  } finally {
    if (!isTaken) closeSpooled(file);
  }
}

/** A symbolic link: its target is a path of the image. */
interface FoundLink {
  readonly path: string;
  readonly target: string;
}

async function filesBelow(
  root: string,
  onFolder: () => void,
  vanished: Vanished,
): Promise<readonly (string | FoundLink)[]> {
  const found: (string | FoundLink)[] = [];
  async function visit(path: string): Promise<void> {
    onFolder();
    for (const entry of await entriesOf(join(root, path), path === "", vanished)) {
      const inner = path === "" ? entry.name : `${path}/${entry.name}`;
      if (entry.isDirectory()) {
        if (path !== "" || !notRead.has(entry.name)) await visit(inner);
      } else if (entry.isFile()) found.push(inner);
      else if (entry.isSymbolicLink()) {
        const target = await readlink(join(root, inner)).catch(() => null);
        if (target !== null) found.push({ path: inner, target });
      }
    }
  }
  await visit("");
  return found;
}

async function entriesOf(folder: string, isRoot: boolean, vanished: Vanished): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (!isRoot && isErrno(error, "ENOENT")) {
      vanished.count++;
      return [];
    }
    throw new ImgmatchError({
      code: "FILE_UNREADABLE",
      message: `${folder}: ${faultOf(error)}`,
      fix: "run it as a user who may read the whole folder",
    });
  }
}
