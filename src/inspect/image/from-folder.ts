/** A root file system in a folder, as it lies there: no link is followed, no device read. */

import { close, open } from "node:fs";
import { opendir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { fstatSync } from "node:fs";
import { ImgmatchError } from "../../errors.ts";
import { errnoMessage, isErrno } from "../../io/files.ts";
import { fileSource } from "../byte-source.ts";
import { archiveBudget, inspectContent } from "./inspect-content.ts";
import { collect, type LayerChange } from "./layer.ts";
import type { OpenedImage, OpenOptions } from "./opened-image.ts";
import { chunksOf } from "./zip.ts";

/** Of the system, not of the image, where a running system is looked at. */
const notRead = new Set(["proc", "sys", "dev"]);

export async function openFromFolder(
  folder: string,
  { onProgress = () => {} }: OpenOptions,
): Promise<OpenedImage> {
  const changes: LayerChange[] = [];
  const budget = archiveBudget();
  let size = 0;
  for await (const path of filesBelow(folder, "")) {
    const { sink, opened } = collect();
    const descriptor = await promisify(open)(join(folder, path), "r").catch((error: unknown) => {
      // Gone since, or not for this user: said, not passed over.
      if (!isErrno(error, "ENOENT")) sink.unopened("", errnoMessage(error));
      return null;
    });
    if (descriptor !== null) {
      try {
        const source = fileSource(descriptor, fstatSync(descriptor).size);
        size += source.size;
        await inspectContent("", chunksOf(source), sink, budget, path);
      } finally {
        await promisify(close)(descriptor);
      }
    }
    onProgress({ layer: 0, layers: 1, bytes: size });
    const found = opened();
    changes.push({ kind: "file", path, ...(found === null ? {} : { opened: found }) });
  }
  return {
    source: "folder",
    name: folder,
    digest: null,
    platform: null,
    layers: [{ changes, size, digest: null }],
    diffIds: null,
  };
}

async function* filesBelow(root: string, path: string): AsyncGenerator<string> {
  let folder: Awaited<ReturnType<typeof opendir>>;
  try {
    folder = await opendir(join(root, path));
  } catch (error) {
    throw new ImgmatchError({
      code: "FILE_UNREADABLE",
      message: `${join(root, path)}: ${errnoMessage(error)}`,
      fix: "run it as a user who may read the whole folder",
    });
  }
  for await (const entry of folder) {
    const inner = path === "" ? entry.name : `${path}/${entry.name}`;
    if (entry.isDirectory()) {
      if (path !== "" || !notRead.has(entry.name)) yield* filesBelow(root, inner);
    } else if (entry.isFile()) yield inner;
  }
}
