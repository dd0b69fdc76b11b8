/** `imgmatch lock`: changes of the lock that are not builds, each asked for by name. */

import { type ExitCode, exitCodes, type Problem, usageError } from "../../errors.ts";
import { moveBases } from "../../fleet/move-bases.ts";
import type { Fleet } from "../../fleet/open-fleet.ts";
import { pruneLock } from "../../fleet/prune-lock.ts";
import type { Selection } from "../../fleet/cells/select.ts";
import { count } from "../../io/table.ts";
import type { CommandContext } from "../command-context.ts";
import {
  baseLookup,
  type FleetChoice,
  lockFileOf,
  openFleetFor,
  parseReplacements,
} from "../../fleet/fleet-choice.ts";
import { print, tell } from "../print.ts";

export interface LockFlags extends FleetChoice {
  readonly updateBases?: boolean;
  readonly prune?: boolean;
}

export async function lock(flags: LockFlags, context: CommandContext): Promise<ExitCode> {
  const { updateBases = false, prune = false, offline = false } = flags;
  if (updateBases === prune) {
    throw usageError(
      updateBases ? "--update-bases and --prune are two steps" : "imgmatch lock needs to know what to do",
      "write one of: imgmatch lock --update-bases, imgmatch lock --prune, imgmatch lock rm CELL, imgmatch lock merge A B",
    );
  }
  if (offline && updateBases) {
    throw usageError("--update-bases asks registries, and --offline forbids it", "leave --offline out");
  }
  const { fleet, only } = await openFleetFor(flags, context);
  return prune ? pruneLocked(fleet, only, flags, context) : updateFleetBases(fleet, only, flags, context);
}

async function updateFleetBases(
  fleet: Fleet,
  only: readonly Selection[],
  flags: LockFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const problems: Problem[] = [];
  const { checked, updates } = await moveBases(fleet, {
    lockFile: lockFileOf(flags),
    only,
    replaceBases: parseReplacements(flags.replaceBase),
    findBaseDigest: await baseLookup(flags, context, (problem) => problems.push(problem)),
    problems,
  });
  const lines = updates.map(
    ({ ref, from, to, cells }) => `${ref}  ${from} → ${to}  ${count(cells.length, "cell")}`,
  );
  print(context, flags, { schemaVersion: 1, checked, updates }, () => lines);
  if (flags.json) return exitCodes.ok;
  const none = `${count(checked, "base image")} asked for, none has moved`;
  tell([updates.length === 0 ? none : "next: imgmatch build --push"], context);
  return exitCodes.ok;
}

async function pruneLocked(
  fleet: Fleet,
  only: readonly Selection[],
  flags: LockFlags,
  context: CommandContext,
): Promise<ExitCode> {
  if (only.length > 0) {
    throw usageError("--prune looks at the whole lock, --only at some cells", "leave --only out");
  }
  const removed = await pruneLock(fleet, lockFileOf(flags));
  print(context, flags, { schemaVersion: 1, removed }, () => removed);
  if (!flags.json)
    context.err(`${count(removed.length, "image")} removed from the lock; the registry keeps them\n`);
  return exitCodes.ok;
}
