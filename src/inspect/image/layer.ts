/** One layer, opened: what its files hold, and what it does to the files below. */

import { loaderReader } from "../loader/loader-record.ts";
import { databaseReader } from "../packages/databases.ts";
import { sharedInspector } from "../workers/worker-pool.ts";
import { type Chunks, createChunkReader } from "./checked.ts";
import { unpacked } from "./decompress.ts";
import { archiveBudget, inspectContent } from "./inspect-content.ts";
import { invalidImage } from "./invalid-image.ts";
import { collect, type OpenedFile } from "./opened-file.ts";
import { readTar } from "./read-tar.ts";

/** In the order of the archive, as the last entry of a path counts. Everything but directories is here. */
export interface LayerInspection {
  readonly changes: readonly LayerChange[];
  /** Unpacked, in bytes. */
  readonly size: number;
}

/** One layer of a hostile image unpacks to no more than this. */
const maxLayer = 2 ** 40;

/** Half a million files with names of 128 letters. */
const maxNames = 64 * 2 ** 20;

const whiteout = ".wh.";

const opaque = ".wh..wh..opq";

/** `name` is what an error calls the layer. `onBytes` hears of every piece of it, unpacked. Throws `IMAGE_INVALID`. */
export async function inspectLayer(
  chunks: Chunks,
  name: string,
  onBytes: (count: number) => void = () => {},
  inspector = sharedInspector(),
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
  const changes = layerChanges();
  const budget = archiveBudget();
  let names = 0;
  for await (const entry of readTar(counted(), name)) {
    names += entry.path.length + entry.target.length;
    if (names > maxNames) throw invalidImage(`${name}: its names have more than ${maxNames} bytes`);
    const path = normalPath(entry.path);
    const slash = path.lastIndexOf("/");
    const [folder, base] = [path.slice(0, Math.max(slash, 0)), path.slice(slash + 1)];
    if (base === opaque) changes.add({ kind: "opaque", path: folder });
    else if (base.startsWith(whiteout)) changes.add({ kind: "removed", path: removedBy(folder, base, name) });
    else if (entry.type === "hardlink")
      changes.add({ kind: "hardlink", path, target: normalPath(entry.target) });
    else if (entry.type === "symlink") changes.add({ kind: "symlink", path, target: entry.target });
    else if (entry.type === "file" && entry.size === 0 && !entry.isSparse) changes.addFile(path, null);
    else if (entry.type !== "directory") {
      const { sink, opened } = collect(path, inspector);
      const database = entry.type === "file" ? databaseReader(path, entry.size) : null;
      const loader = entry.type === "file" ? loaderReader(path, entry.size) : null;
      if (entry.isSparse) sink.unopened("", "a sparse file");
      else if (database !== null) sink.packages(await database(() => whole(entry.content, entry.size)));
      else if (loader !== null) sink.loader(loader(await whole(entry.content, entry.size)));
      else if (entry.type === "file") await inspectContent("", entry.content, sink, budget, path);
      changes.addFile(path, opened());
    }
  }
  return { changes: await changes.result(), size };
}

/** Engines differ in what they do about a whiteout of `.` or `..`, and nobody makes one. */
function removedBy(folder: string, base: string, name: string): string {
  const removed = base.slice(whiteout.length);
  if (removed === "" || removed === "." || removed === "..")
    throw invalidImage(`${name}: ${join(folder, base)} removes no file that has a name`);
  return join(folder, removed);
}

function whole(chunks: Chunks, size: number): Promise<Uint8Array> {
  return createChunkReader(chunks).take(size);
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

/** The changes of a layer in the order of its archive, while files of it are still being opened. */
export type LayerChange =
  | { readonly kind: "file"; readonly path: string; readonly opened?: OpenedFile }
  | { readonly kind: "hardlink" | "symlink"; readonly path: string; readonly target: string }
  /** `opaque`: what lower layers have in the folder is gone. */
  | { readonly kind: "removed" | "opaque"; readonly path: string };

export function layerChanges() {
  const changes: LayerChange[] = [];
  const open: Promise<void>[] = [];
  let failure: { readonly error: unknown } | null = null;
  return {
    add: (change: LayerChange) => changes.push(change),
    /** Throws what opening an earlier file threw. */
    addFile(path: string, opened: Promise<OpenedFile | null> | null) {
      if (failure !== null) throw failure.error;
      const index = changes.push({ kind: "file", path }) - 1;
      if (opened === null) return;
      const done = opened.then((found) => {
        if (found !== null) changes[index] = { kind: "file", path, opened: found };
      });
      done.catch((error: unknown) => {
        failure ??= { error };
      });
      open.push(done);
    },
    /** Waits for all files. Throws what opening one of them threw. */
    async result(): Promise<readonly LayerChange[]> {
      await Promise.all(open);
      return changes;
    },
  };
}
