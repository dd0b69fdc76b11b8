/** `imgmatch lock rm`: drops images from the lock, so that the next build makes them again. The registry keeps what it has. */

import { type ExitCode, exitCodes } from "../errors.ts";
import { readLock } from "../lock/lock-file.ts";
import { withoutImages } from "../lock/remove-images.ts";
import { updateLock } from "../lock/update-lock.ts";
import { printableReport } from "../input/printable.ts";
import { count } from "../report/table.ts";
import type { CommandContext } from "./context.ts";
import { type FleetFlags, lockFileOf } from "./fleet-options.ts";

export interface RemoveFlags extends FleetFlags {
  readonly cells: readonly string[];
  readonly json?: boolean;
}

export async function removeFromLock(flags: RemoveFlags, context: CommandContext): Promise<ExitCode> {
  const file = lockFileOf(flags);
  const known = await readLock(file);
  await updateLock(file, (lock) => withoutImages(lock ?? known, flags.cells, file));
  const removed = [...new Set(flags.cells)].sort();
  if (flags.json) context.out(`${JSON.stringify({ schemaVersion: 1, removed }, null, 2)}\n`);
  else {
    context.out(printableReport(removed));
    context.err(`${count(removed.length, "image")} removed from the lock; next: imgmatch build --push\n`);
  }
  return exitCodes.ok;
}
