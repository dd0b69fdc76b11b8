import type { Digest } from "../oci/digest.ts";
import { type ExitCode, exitCodes, ImgmatchError, type Problem, throwProblems } from "../errors.ts";
import { type Fleet, planOpenFleet } from "../fleet.ts";
import { refuseForeignLock } from "../lock/foreign-lock.ts";
import type { Lock } from "../lock/lock.ts";
import { readLock } from "../lock/lock-file.ts";
import { updateLock } from "../lock/update-lock.ts";
import { movableBases } from "../plan/registry-view.ts";
import type { Selection } from "../plan/select.ts";
import { baseUpdates, withUpdatedBases } from "../plan/update-bases.ts";
import { count } from "../report/table.ts";
import type { CommandContext } from "./context.ts";
import { baseLookup, type FleetFlags, lockFileOf, openFleetFor, parseReplacements } from "./fleet-options.ts";

export interface LockFlags extends FleetFlags {
  readonly updateBases?: boolean;
  readonly prune?: boolean;
  readonly json?: boolean;
}

/** `imgmatch lock`: changes of the lock that are not builds, each asked for by name. */
export async function lock(flags: LockFlags, context: CommandContext): Promise<ExitCode> {
  const { updateBases = false, prune = false, offline = false } = flags;
  if (updateBases === prune) {
    throw new ImgmatchError({
      code: "USAGE",
      message: updateBases
        ? "--update-bases and --prune are two steps"
        : "imgmatch lock needs to know what to do",
      fix: "write one of: imgmatch lock --update-bases, imgmatch lock --prune, imgmatch lock rm CELL, imgmatch lock merge A B",
    });
  }
  if (offline && updateBases) {
    throw new ImgmatchError({
      code: "USAGE",
      message: "--update-bases asks registries, and --offline forbids it",
      fix: "leave --offline out",
    });
  }
  const { fleet, only } = await openFleetFor(flags);
  const file = lockFileOf(flags);
  return prune ? pruneLock(fleet, only, file, flags, context) : moveBases(fleet, only, file, flags, context);
}

async function moveBases(
  fleet: Fleet,
  only: readonly Selection[],
  file: string,
  flags: LockFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const problems: Problem[] = [];
  const findBaseDigest = await baseLookup(flags, context, (problem) => problems.push(problem));
  const known = await readLock(file);
  refuseForeignLock(known, fleet.matrix.repository, file);
  const options = { lock: known, only, replaceBases: parseReplacements(flags.replaceBase), findBaseDigest };
  const { cells } = await planOpenFleet(fleet, options);
  const locked = cells.filter((planned) => planned.locked !== null);
  const refs = movableBases({ cells: locked });
  const found = await Promise.all(refs.map(async (ref) => [ref, await findBaseDigest(ref)] as const));
  // Some bases updated and others not would be neither the old state nor the new one.
  throwProblems(problems);
  const current = new Map(found.filter((pair): pair is [string, Digest] => pair[1] !== null));
  const updates = baseUpdates(locked, current);
  if (updates.length > 0)
    await updateLock(file, (lock) => withUpdatedBases(lock ?? known, locked, current), {
      repository: fleet.matrix.repository,
    });
  if (flags.json) {
    context.out(`${JSON.stringify({ schemaVersion: 1, checked: refs.length, updates }, null, 2)}\n`);
    return exitCodes.ok;
  }
  for (const { ref, from, to, cells } of updates)
    context.out(`${ref}  ${from} → ${to}  ${count(cells.length, "cell")}\n`);
  context.err(
    updates.length === 0
      ? `${count(refs.length, "base image")} asked for, none has moved\n`
      : "next: imgmatch build --push\n",
  );
  return exitCodes.ok;
}

/** Drops what the matrix has no cell for, and what it excludes or holds impossible. */
async function pruneLock(
  fleet: Fleet,
  only: readonly Selection[],
  file: string,
  { json }: LockFlags,
  context: CommandContext,
): Promise<ExitCode> {
  if (only.length > 0) {
    throw new ImgmatchError({
      code: "USAGE",
      message: "--prune looks at the whole lock, --only at some cells",
      fix: "leave --only out",
    });
  }
  const known = await readLock(file);
  const { repository } = fleet.matrix;
  refuseForeignLock(known, repository, file);
  const buildable = new Set(fleet.cells.filter(({ skipped }) => skipped === null).map(({ cell }) => cell.id));
  const retired = Object.keys(known.images).filter((cell) => !buildable.has(cell));
  if (retired.length > 0) {
    const prune = (lock: Lock | null): Lock => {
      const { images, ...head } = lock ?? known;
      const kept = Object.entries(images).filter(([cell]) => buildable.has(cell));
      return { ...head, images: Object.fromEntries(kept) };
    };
    await updateLock(file, prune, { repository });
  }
  if (json) context.out(`${JSON.stringify({ schemaVersion: 1, removed: retired.sort() }, null, 2)}\n`);
  else {
    for (const cell of retired.sort()) context.out(`${cell}\n`);
    context.err(`${count(retired.length, "image")} removed from the lock; the registry keeps them\n`);
  }
  return exitCodes.ok;
}
