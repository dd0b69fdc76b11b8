/** `imgmatch lock merge`: one lock of the locks of builds that ran side by side. */

import { dirname, join } from "node:path";
import { type ExitCode, exitCodes } from "../errors.ts";
import { type Lock, lockPath } from "../lock/lock.ts";
import { readLock, readLockIfPresent } from "../lock/lock-file.ts";
import { mergeLocks, type NamedLock } from "../lock/merge-locks.ts";
import { updateLock } from "../lock/update-lock.ts";
import { printableReport } from "../input/printable.ts";
import { count } from "../report/table.ts";
import type { CommandContext } from "./context.ts";

export interface MergeFlags {
  readonly locks: readonly string[];
  readonly matrix?: string;
  readonly lock?: string;
  readonly base?: string;
  readonly out?: string;
  readonly json?: boolean;
}

export async function mergeLockFiles(flags: MergeFlags, context: CommandContext): Promise<ExitCode> {
  const home = flags.lock ?? join(dirname(flags.matrix ?? "."), lockPath);
  const named = flags.base === undefined ? null : await readLock(flags.base);
  const read = await Promise.all(flags.locks.map(async (file) => ({ file, lock: await readLock(file) })));
  const out = flags.out ?? home;
  const merge = (base: Lock | null) =>
    mergeLocks(read as unknown as readonly [NamedLock, ...NamedLock[]], base);
  const before = named ?? (await readLockIfPresent(home));
  const { repository } = merge(before);
  // A build beside this may have written it since.
  const merged = await updateLock(out, (now) => merge(named === null && out === home ? now : before), {
    repository,
  });
  const images = Object.keys(merged.images).length;
  context.out(
    flags.json
      ? `${JSON.stringify({ schemaVersion: 1, out, locks: flags.locks, images }, null, 2)}\n`
      : printableReport([`${out}: ${count(images, "image")} of ${count(flags.locks.length, "lock")}`]),
  );
  return exitCodes.ok;
}
