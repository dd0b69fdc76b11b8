/** Opens single files while the image is read further: in this thread, or in another. */

import { setMaxListeners } from "node:events";
import type { ByteSource } from "../byte-source.ts";
import type { FileInspection } from "../file-inspection.ts";
import { closeSpooled, type SpooledFile, sourceOf } from "../image/spool.ts";

export interface FileInspector {
  /** Takes the file over, and closes it. `mayBePackaged`: its checksums may be in a package database. `gpuAlone`: code for CPUs is left unread. */
  inspect(file: SpooledFile, mayBePackaged: boolean, gpuAlone?: boolean): FileJob;
}

export interface FileJob {
  /** Resolves when there is room for the next file. Rejects only where {@link stoppable} says so. */
  readonly accepted: Promise<void>;
  /** null for a file that no loader and no driver takes. */
  readonly found: Promise<FileInspection | null>;
  /** Ends the work soon: then `found` rejects. */
  stop(): void;
}

export const inThisThread: FileInspector = {
  inspect(file, mayBePackaged, gpuAlone = false) {
    let isStopped = false;
    const source = sourceOf(file);
    const unlessStopped = () => {
      if (isStopped) throw new Error("stopped");
    };
    const read: ByteSource = {
      size: source.size,
      read(at, length) {
        unlessStopped();
        return source.read(at, length);
      },
      readOver(at, buffer) {
        unlessStopped();
        return source.readOver(at, buffer);
      },
    };
    const stop = () => {
      isStopped = true;
    };
    return { ...alone(inspected(file, read, mayBePackaged, gpuAlone)), stop };
  },
};

/** The next file has to wait until this one is done. */
export function alone(found: FileJob["found"]): FileJob {
  const over = () => {};
  return { found, accepted: found.then(over, over), stop: over };
}

async function inspected(
  file: SpooledFile,
  source: ByteSource,
  mayBePackaged: boolean,
  gpuAlone: boolean,
): Promise<FileInspection | null> {
  try {
    // Loads the decoder only here: another thread has its own.
    const { inspectFile } = await import("../inspect-file.ts");
    return await inspectFile(source, mayBePackaged, gpuAlone);
  } finally {
    closeSpooled(file);
  }
}

/** The inspector, which leaves code for CPUs unread. */
export function forGpu(inspector: FileInspector): FileInspector {
  return { inspect: (file, mayBePackaged) => inspector.inspect(file, mayBePackaged, true) };
}

/** The inspector, whose jobs end when the signal is aborted, and reject at once with the signal's reason. */
export function stoppable(inspector: FileInspector, signal: AbortSignal | undefined): FileInspector {
  if (signal === undefined) return inspector;
  const jobs = new Set<FileJob>();
  const aborted = new Promise<never>((_, reject) => {
    // Node takes more than ten listeners for a leak: each subject has one.
    setMaxListeners(0, signal);
    const stop = () => {
      for (const job of jobs) job.stop();
      reject(signal.reason);
    };
    signal.addEventListener("abort", stop, { once: true });
  });
  aborted.catch(() => {});
  return {
    inspect(file, ...asked) {
      const job = inspector.inspect(file, ...asked);
      const forget = () => jobs.delete(job);
      jobs.add(job);
      job.found.then(forget, forget);
      if (signal.aborted) job.stop();
      const [accepted, found] = [Promise.race([job.accepted, aborted]), Promise.race([job.found, aborted])];
      return { accepted, found, stop: job.stop };
    },
  };
}
