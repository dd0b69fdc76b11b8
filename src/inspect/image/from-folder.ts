/** Opens a root file system in a folder, or one file. No link is followed, no device is read. */

import { fstatSync, open } from "node:fs";
import { opendir, readlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { faultOf, ImgmatchError } from "../../errors.ts";
import { isErrno } from "../../io/files.ts";
import { headBytes, holdsCode } from "../file-inspection.ts";
import { sharedInspector } from "../workers/thread-inspector.ts";
import { chunksOf } from "./chunks.ts";
import { type ArchiveBudget, archiveBudget } from "./archive-budget.ts";
import { inspectContent, inspectProgram } from "./inspect-content.ts";
import { layerChanges } from "./layer.ts";
import type { OpenedImage, OpenOptions } from "./open-layers.ts";
import { collect } from "./opened-file.ts";
import { closeSpooled, maxSpool, type SpooledFile, sourceOf } from "./spool.ts";

/** Folders of a running system, which are not the image's. */
const notRead = new Set(["proc", "sys", "dev"]);

export function openFromFolder(folder: string, options: OpenOptions): Promise<OpenedImage> {
  return openFiles(folder, filesBelow(folder, ""), { source: "folder", name: folder }, options);
}

/** A wheel, a library, an archive that is no image. */
export function openFromFile(path: string, options: OpenOptions): Promise<OpenedImage> {
  const named = { source: "file", name: path } as const;
  return openFiles(dirname(path), [basename(path)], named, options);
}

async function openFiles(
  folder: string,
  paths: AsyncIterable<string | FoundLink> | Iterable<string>,
  named: Pick<OpenedImage, "source" | "name">,
  { onProgress = () => {}, inspector = sharedInspector() }: OpenOptions,
): Promise<OpenedImage> {
  const changes = layerChanges();
  const budget = archiveBudget();
  let size = 0;
  for await (const path of paths) {
    if (typeof path !== "string") {
      changes.add({ kind: "symlink", ...path });
      continue;
    }
    const collected = collect(path, inspector);
    const file = await openFile(join(folder, path)).catch((error: unknown) => {
      // A file that this user may not read is reported. A file that is gone by now is not.
      if (!isErrno(error, "ENOENT")) collected.sink.unopened("", faultOf(error));
      return null;
    });
    if (file !== null) {
      size += file.size;
      await inspectOpen(file, path, collected, budget);
    }
    onProgress({ layer: 0, layers: 1, bytes: size });
    changes.addFile(path, collected.opened());
  }
  return {
    ...named,
    digest: null,
    platform: null,
    layers: [{ changes: await changes.result(), size, digest: null }],
    diffIds: null,
  };
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
): Promise<void> {
  let isTaken = false;
  try {
    const source = sourceOf(file);
    if (await readKnown(file.size, async () => source.read(0, file.size))) return;
    isTaken = file.size <= maxSpool && holdsCode(source.read(0, headBytes));
    if (isTaken) await inspectProgram(file, sink, budget);
    else await inspectContent("", chunksOf(source), sink, budget, path);
  } finally {
    if (!isTaken) closeSpooled(file);
  }
}

/** A symbolic link: its target is a path of the image. */
interface FoundLink {
  readonly path: string;
  readonly target: string;
}

async function* filesBelow(root: string, path: string): AsyncGenerator<string | FoundLink> {
  let folder: Awaited<ReturnType<typeof opendir>>;
  try {
    folder = await opendir(join(root, path));
  } catch (error) {
    throw new ImgmatchError({
      code: "FILE_UNREADABLE",
      message: `${join(root, path)}: ${faultOf(error)}`,
      fix: "run it as a user who may read the whole folder",
    });
  }
  for await (const entry of folder) {
    const inner = path === "" ? entry.name : `${path}/${entry.name}`;
    if (entry.isDirectory()) {
      if (path !== "" || !notRead.has(entry.name)) yield* filesBelow(root, inner);
    } else if (entry.isFile()) yield inner;
    else if (entry.isSymbolicLink()) {
      const target = await readlink(join(root, inner)).catch(() => null);
      if (target !== null) yield { path: inner, target };
    }
  }
}
