/** The changes of a layer in the order of its archive, while files of it are still being opened. */

import type { OpenedFile } from "./opened-file.ts";

export type LayerChange =
  | { readonly kind: "file"; readonly path: string; readonly opened?: OpenedFile }
  | { readonly kind: "hardlink" | "symlink"; readonly path: string; readonly target: string }
  /** `opaque`: what lower layers have in the folder is gone. */
  | { readonly kind: "removed" | "opaque"; readonly path: string };

export interface LayerChanges {
  add(change: LayerChange): void;
  /** Throws what opening an earlier file threw. */
  addFile(path: string, opened: Promise<OpenedFile | null> | null): void;
  /** Waits for all files. Throws what opening one of them threw. */
  result(): Promise<readonly LayerChange[]>;
}

export function layerChanges(): LayerChanges {
  const changes: LayerChange[] = [];
  const open: Promise<void>[] = [];
  let failure: { readonly error: unknown } | null = null;
  return {
    add: (change) => changes.push(change),
    addFile(path, opened) {
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
    async result() {
      await Promise.all(open);
      return changes;
    },
  };
}
