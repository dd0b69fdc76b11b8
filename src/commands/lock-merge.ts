import { dirname, join } from "node:path";
import { type ExitCode, exitCodes } from "../errors.ts";
import { lockPath } from "../lock/lock.ts";
import { readLock, readLockIfPresent, writeLock } from "../lock/lock-file.ts";
import { mergeLocks, type NamedLock } from "../lock/merge-locks.ts";
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

/** `imgmatch lock merge`: one lock of the locks of builds that ran side by side. */
export async function mergeLockFiles(flags: MergeFlags, context: CommandContext): Promise<ExitCode> {
  const home = flags.lock ?? join(dirname(flags.matrix ?? "."), lockPath);
  const base = flags.base === undefined ? await readLockIfPresent(home) : await readLock(flags.base);
  const read = await Promise.all(flags.locks.map(async (file) => ({ file, lock: await readLock(file) })));
  const merged = mergeLocks(read as unknown as readonly [NamedLock, ...NamedLock[]], base);
  const out = flags.out ?? home;
  await writeLock(out, merged);
  const images = Object.keys(merged.images).length;
  context.out(
    flags.json
      ? `${JSON.stringify({ schemaVersion: 1, out, locks: flags.locks, images }, null, 2)}\n`
      : `${out}: ${count(images, "image")} of ${count(flags.locks.length, "lock")}\n`,
  );
  return exitCodes.ok;
}
