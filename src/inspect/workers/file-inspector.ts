/** Opens single files while the image is read further: in this thread, or in another. */

import type { FileInspection } from "../file-inspection.ts";
import { closeSpooled, type SpooledFile, sourceOf } from "../image/spool.ts";

export interface FileInspector {
  /** Takes the file over, and closes it. `mayBePackaged`: its checksums may be in a package database. */
  inspect(file: SpooledFile, mayBePackaged: boolean): FileJob;
}

export interface FileJob {
  /** Resolves when there is room for the next file. Never rejects. */
  readonly accepted: Promise<void>;
  /** null for a file that no loader and no driver takes. */
  readonly found: Promise<FileInspection | null>;
}

export const inThisThread: FileInspector = {
  inspect: (file, mayBePackaged) => alone(inspected(file, mayBePackaged)),
};

/** The next file has to wait until this one is done. */
export function alone(found: FileJob["found"]): FileJob {
  const over = () => {};
  return { found, accepted: found.then(over, over) };
}

async function inspected(file: SpooledFile, mayBePackaged: boolean): Promise<FileInspection | null> {
  try {
    // Loads the decoder only here: another thread has its own.
    const { inspectFile } = await import("../inspect-file.ts");
    return await inspectFile(sourceOf(file), mayBePackaged);
  } finally {
    closeSpooled(file);
  }
}
