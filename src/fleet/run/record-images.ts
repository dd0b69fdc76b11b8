/** Writes the images that were just built into the lock. */

import type { LockedImage } from "../../lock/lock.ts";
import { updateLock } from "../../lock/store/update-lock.ts";
import { type Builder, lockEntryOf, withImages } from "../engines/built-cell.ts";
import type { ReadyCell } from "../engines/jobs.ts";
import type { Plan } from "../plan/planned-cell.ts";
import type { FinishedJob } from "./build-cells.ts";

export interface RecordOptions {
  readonly builder: Builder;
  readonly lockFile: string;
  readonly now: () => Date;
}

/** Throws `WRITE_FAILED` or `LOCK_BUSY`. */
export async function recordImages(
  finished: readonly FinishedJob[],
  ready: ReadonlyMap<string, ReadyCell>,
  { matrix, versions }: Pick<Plan, "matrix" | "versions">,
  { builder, lockFile, now }: RecordOptions,
): Promise<void> {
  const created = now().toISOString();
  const images = finished.map(({ job: { cell }, built }): [string, LockedImage] => [
    cell,
    lockEntryOf(ready.get(cell) as ReadyCell, built, builder, created),
  ]);
  await updateLock(lockFile, (lock) => withImages(lock, matrix, Object.fromEntries(images)), {
    repository: matrix.repository,
    versions,
  });
}
