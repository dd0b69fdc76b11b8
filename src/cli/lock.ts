/** `imgmatch lock`: changes the lock without a build. */

import { usageError } from "../errors.ts";
import type { MergeLocksOptions, RemoveFromLockAnswer, RemoveFromLockOptions } from "../fleet/lock.ts";
import type { FleetChoice } from "../fleet/open/fleet-choice.ts";
import { count } from "../io/table.ts";
import { ports } from "../ports.ts";
import type { CommandContext, Define } from "./command.ts";
import { withBases, withFleet } from "./flags/fleet-options.ts";
import { withJson } from "./flags/options.ts";
import { type JsonFlag, print, tell } from "./print.ts";

interface LockFlags extends FleetChoice, JsonFlag {
  readonly updateBases?: boolean;
  readonly prune?: boolean;
}

export const lock: Define = (command, run) => {
  withBases(
    withFleet(
      command
        .description("Change the lock without building")
        .option("--update-bases", "Let the next build use the images that the bases' tags name now")
        .option("--prune", "Remove the images of cells that the matrix no longer builds"),
    ),
  ).action(run(lockCommand));
  withJson(command.command("merge"))
    .description("Join the locks of builds that ran side by side")
    .argument("<locks...>", "the locks")
    .option(
      "--base <file>",
      "Take only the changes against this lock, with which the builds started (default: the lock)",
    )
    .option("--branches", "Join the locks of two branches, as git's merge driver: --base %O --out %A %A %B")
    .option("--out <file>", "Write the result there (default: the lock)")
    .action(run(mergeCommand));
  withJson(command.command("rm"))
    .description("Remove images from the lock, so that the next build makes them again")
    .argument("<cells...>", "the cells' ids")
    .action(run(removeCommand));
  return command;
};

async function lockCommand(flags: LockFlags, context: CommandContext): Promise<void> {
  const { updateBases = false, prune = false } = flags;
  if (updateBases === prune)
    throw usageError(
      updateBases ? "--update-bases and --prune are two steps" : "imgmatch lock needs to know what to do",
      "write one of: imgmatch lock --update-bases, imgmatch lock --prune, imgmatch lock rm CELL, imgmatch lock merge A B",
    );
  await (prune ? pruneCommand : updateBasesCommand)(flags, context);
}

async function updateBasesCommand(flags: LockFlags, context: CommandContext): Promise<void> {
  const { updateBasesWith } = await import("../fleet/lock.ts");
  const answer = await updateBasesWith(ports)(flags, context);
  const { checked, updates } = answer;
  print(context, flags, answer, () =>
    updates.map(({ ref, from, to, cells }) => `${ref}  ${from} → ${to}  ${count(cells.length, "cell")}`),
  );
  if (flags.json) return;
  const none = `${count(checked, "base image")} asked for, none has moved`;
  tell([updates.length === 0 ? none : "next: imgmatch build --push"], context);
}

async function pruneCommand(flags: LockFlags, context: CommandContext): Promise<void> {
  const { pruneLockWith } = await import("../fleet/lock.ts");
  const answer = await pruneLockWith(ports)(flags, context);
  const { removed } = answer;
  print(context, flags, answer, () => removed);
  if (!flags.json)
    tell([`${count(removed.length, "image")} removed from the lock; the registry keeps them`], context);
}

async function mergeCommand(flags: MergeLocksOptions & JsonFlag, context: CommandContext): Promise<void> {
  const { mergeLocks } = await import("../fleet/lock.ts");
  const answer = await mergeLocks(flags);
  const { out, locks, images } = answer;
  print(context, flags, answer, () => [
    `${out}: ${count(images, "image")} of ${count(locks.length, "lock")}`,
  ]);
}

async function removeCommand(
  flags: RemoveFromLockOptions & JsonFlag,
  context: CommandContext,
): Promise<void> {
  const { removeFromLock } = await import("../fleet/lock.ts");
  const answer = await removeFromLock(flags);
  const { removed } = answer;
  print(context, flags, answer, () => removed);
  if (!flags.json)
    tell([`${count(removed.length, "image")} removed from the lock; next: ${nextStep(answer)}`], context);
}

function nextStep({ adopted, kept }: RemoveFromLockAnswer): string {
  if (!adopted) return "imgmatch build --push";
  return kept === 0
    ? "imgmatch adopt, as it is empty now"
    : "imgmatch publish --replace-index, where its index is published";
}
