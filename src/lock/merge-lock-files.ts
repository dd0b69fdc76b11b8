/** One lock file of the lock files of builds that ran side by side. */

import type { Lock } from "./lock.ts";
import { readLock, readLockIfPresent } from "./lock-file.ts";
import { mergeLocks } from "./merge-locks.ts";
import { updateLock } from "./update-lock.ts";

export interface MergeOptions {
  /** The fleet's own lock: what the builds began with, and where the result goes, unless something else is said. */
  readonly home: string;
  /** What the builds began with. */
  readonly base?: string | undefined;
  /** Where the result goes. */
  readonly out?: string | undefined;
}

/** {@link mergeLocks} with its files; answers where the result is. Throws too what reading and writing throw. */
export async function mergeLockFiles(
  files: readonly [string, ...string[]],
  { home, base, out = home }: MergeOptions,
): Promise<{ readonly lock: Lock; readonly out: string }> {
  const named = base === undefined ? null : await readLock(base);
  const readNamed = async (file: string) => ({ file, lock: await readLock(file) });
  const [first, ...rest] = files;
  const [one, others] = await Promise.all([readNamed(first), Promise.all(rest.map(readNamed))]);
  const merge = (before: Lock | null) => mergeLocks([one, ...others], before);
  const before = named ?? (await readLockIfPresent(home));
  const { repository } = merge(before);
  // A build beside this may have written it since.
  const isLive = named === null && out === home;
  return { lock: await updateLock(out, (now) => merge(isLive ? now : before), { repository }), out };
}
