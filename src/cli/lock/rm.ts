/** `imgmatch lock rm`: drops images from the lock, so that the next build makes them again, if a matrix does. The registry keeps what it has. */

import { type ExitCode, exitCodes } from "../../errors.ts";
import { isAdopted } from "../../lock/adopted-lock.ts";
import { readLock } from "../../lock/lock-file.ts";
import type { Lock } from "../../lock/lock.ts";
import { removeImages } from "../../lock/update-lock.ts";
import { count } from "../../io/table.ts";
import type { CommandContext } from "../command-context.ts";
import { type FleetChoice, lockFileOf } from "../../fleet/fleet-choice.ts";
import { print } from "../print.ts";

export interface RemoveFlags extends FleetChoice {
  readonly cells: readonly string[];
}

export async function removeFromLock(flags: RemoveFlags, context: CommandContext): Promise<ExitCode> {
  const file = lockFileOf(flags);
  const before = await readLock(file);
  const removed = await removeImages(file, flags.cells);
  print(context, flags, { schemaVersion: 1, removed }, () => removed);
  if (!flags.json)
    context.err(
      `${count(removed.length, "image")} removed from the lock; next: ${nextStep(before, removed)}\n`,
    );
  return exitCodes.ok;
}

function nextStep(before: Lock, removed: readonly string[]): string {
  if (!isAdopted(before)) return "imgmatch build --push";
  return removed.length === Object.keys(before.images).length
    ? "imgmatch adopt, as it is empty now"
    : "imgmatch publish --replace-index, where its index is published";
}
