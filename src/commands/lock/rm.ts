/** `imgmatch lock rm`: drops images from the lock, so that the next build makes them again. The registry keeps what it has. */

import { type ExitCode, exitCodes } from "../../errors.ts";
import { removeImages } from "../../lock/remove-images.ts";
import { printableReport } from "../../input/printable.ts";
import { count } from "../../report/table.ts";
import type { CommandContext } from "../context.ts";
import { type FleetFlags, lockFileOf } from "../flags/fleet.ts";
import { print } from "../print.ts";

export interface RemoveFlags extends FleetFlags {
  readonly cells: readonly string[];
  readonly json?: boolean;
}

export async function removeFromLock(flags: RemoveFlags, context: CommandContext): Promise<ExitCode> {
  const removed = await removeImages(lockFileOf(flags), flags.cells);
  print(context, flags, { schemaVersion: 1, removed }, () => printableReport(removed));
  if (!flags.json)
    context.err(`${count(removed.length, "image")} removed from the lock; next: imgmatch build --push\n`);
  return exitCodes.ok;
}
