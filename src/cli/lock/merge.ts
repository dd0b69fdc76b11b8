/** `imgmatch lock merge`: one lock of the locks of builds that ran side by side. */

import { type ExitCode, exitCodes } from "../../errors.ts";
import { mergeLockFiles } from "../../lock/merge-locks.ts";
import { count } from "../../io/table.ts";
import type { CommandContext } from "../command-context.ts";
import { type FleetChoice, lockFileOf } from "../../fleet/fleet-choice.ts";
import { print } from "../print.ts";

export interface MergeFlags extends FleetChoice {
  readonly locks: readonly [string, ...string[]];
  readonly base?: string;
  readonly out?: string;
}

export async function mergeLocks(flags: MergeFlags, context: CommandContext): Promise<ExitCode> {
  const { locks, base } = flags;
  const { lock, out } = await mergeLockFiles(locks, { home: lockFileOf(flags), base, out: flags.out });
  const images = Object.keys(lock.images).length;
  print(context, flags, { schemaVersion: 1, out, locks, images }, () => [
    `${out}: ${count(images, "image")} of ${count(locks.length, "lock")}`,
  ]);
  return exitCodes.ok;
}
