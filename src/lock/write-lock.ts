/** The lock on disk, replaced in one step. Apart from reading it: a node that resolves does not wait for what writes. */

import { writeFileAtomic } from "../io/write-file.ts";
import { formatLock } from "./format-lock.ts";
import type { Lock } from "./lock.ts";

/** Throws `WRITE_FAILED` and leaves the old lock when the disk is full. */
export async function writeLock(path: string, lock: Lock): Promise<void> {
  await writeFileAtomic(path, formatLock(lock));
}
