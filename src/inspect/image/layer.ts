/** Opens one layer: what its files hold, and what it does to the files of lower layers. */

import { posix } from "node:path";
import type { Digest } from "../../oci/digest.ts";
import type { FileInspector } from "../workers/file-inspector.ts";
import { sharedInspector } from "../workers/thread-inspector.ts";
import { type Chunks, checked, createChunkReader } from "./chunks.ts";
import { unpacked } from "./decompress.ts";
import { archiveBudget } from "./archive-budget.ts";
import { inspectContent } from "./inspect-content.ts";
import { invalidImage } from "./invalid-image.ts";
import { collect, type OpenedFile } from "./opened-file.ts";
import { readTar } from "./read-tar.ts";

/** The changes are in the order of the archive: the last entry of a path counts. Directories are left out. */
export interface LayerInspection {
  readonly changes: readonly LayerChange[];
  /** Unpacked, in bytes. */
  readonly size: number;
}

/** Unpacked bytes of one layer. */
const maxLayer = 2 ** 40;
/** Half a million files with names of 128 letters. */
const maxNames = 64 * 2 ** 20;

const whiteout = ".wh.";
const opaque = ".wh..wh..opq";

/** The bytes of a layer, and the digest that they must have; null if their source compares it. */
export interface LayerBlob {
  readonly chunks: Chunks;
  readonly digest: Digest | null;
}

/**
 * Opens a layer, and compares its digest at the end. Errors call it `name`. `onBytes` gets the length of every unpacked piece. Throws
 * `IMAGE_INVALID`.
 */
export async function inspectLayer(
  { chunks, digest }: LayerBlob,
  name: string,
  onBytes: (count: number) => void = () => {},
  inspector = sharedInspector(),
): Promise<LayerInspection> {
  const blob = checked(chunks, digest, name);
  try {
    const layer = await inspectChunks(blob.chunks, name, onBytes, inspector);
    await blob.finish();
    return layer;
  } finally {
    await blob.close();
  }
}

async function inspectChunks(
  chunks: Chunks,
  name: string,
  onBytes: (count: number) => void,
  inspector: FileInspector,
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
    const { dir: folder, base } = posix.parse(path);
    if (base === opaque) changes.add({ kind: "opaque", path: folder });
    else if (base.startsWith(whiteout)) changes.add({ kind: "removed", path: removedBy(folder, base, name) });
    else if (entry.type === "hardlink")
      changes.add({ kind: "hardlink", path, target: normalPath(entry.target) });
    else if (entry.type === "symlink") changes.add({ kind: "symlink", path, target: entry.target });
    else if (entry.type === "file" && entry.size === 0 && !entry.isSparse) changes.addFile(path, null);
    else if (entry.type !== "directory") {
      const { sink, readKnown, opened } = collect(path, inspector);
      const whole = () => createChunkReader(entry.content).take(entry.size);
      if (entry.isSparse) sink.unopened("", "a sparse file");
      else if (entry.type === "file" && !(await readKnown(entry.size, whole)))
        await inspectContent("", entry.content, sink, budget, path);
      changes.addFile(path, opened());
    }
  }
  return { changes: await changes.result(), size };
}

/** Engines differ about a whiteout of `.` or `..`, and nobody makes one: it is refused. */
function removedBy(folder: string, base: string, name: string): string {
  const removed = base.slice(whiteout.length);
  if (removed === "" || removed === "." || removed === "..")
    throw invalidImage(`${name}: ${posix.join(folder, base)} removes no file that has a name`);
  return posix.join(folder, removed);
}

/** Removes `.`, `..` and empty parts: a `..` at the root stays at the root, as in a chroot. */
export function normalPath(path: string): string {
  return posix.join("/", path).replace(/^\/|\/$/g, "");
}

export type LayerChange =
  | { readonly kind: "file"; readonly path: string; readonly opened?: OpenedFile }
  | { readonly kind: "hardlink" | "symlink"; readonly path: string; readonly target: string }
  /** `opaque` removes what lower layers have in the folder. */
  | { readonly kind: "removed" | "opaque"; readonly path: string };

/** Keeps the changes of a layer in order while its files are still being opened. */
export function layerChanges() {
  const changes: LayerChange[] = [];
  const running: Promise<void>[] = [];
  let failure: { readonly error: unknown } | null = null;
  return {
    add: (change: LayerChange) => changes.push(change),
    /** Throws if an earlier file could not be opened. */
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
      running.push(done);
    },
    /** Waits for all files. Throws if one could not be opened. */
    async result(): Promise<readonly LayerChange[]> {
      await Promise.all(running);
      return changes;
    },
  };
}
