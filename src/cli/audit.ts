/** `imgmatch audit`: whether the images of a fleet are what was declared. */

import { type ExitCode, exitCodes, problemCodes, usageError } from "../errors.ts";
import type { AuditOptions, FleetAudit } from "../fleet/audit-fleet.ts";
import { isAdopted, refuseAdoptedLock } from "../lock/adopted-lock.ts";
import type { Lock } from "../lock/lock.ts";
import { readLock, readLockIfPresent } from "../lock/lock-file.ts";
import { auditLines, auditToJson } from "./report/audit.ts";
import { mark } from "./report/terminal-text.ts";
import type { CommandContext } from "./command-context.ts";
import { type FleetChoice, lockFileOf, openFleetFor, parseReplacements } from "../fleet/fleet-choice.ts";
import { registryFor } from "../oci/registry/registry-access.ts";
import { print } from "./print.ts";

export interface AuditFlags extends FleetChoice {
  readonly remote?: boolean;
}

export async function audit(flags: AuditFlags, context: CommandContext): Promise<ExitCode> {
  const lock = await readLockIfPresent(lockFileOf(flags));
  const found = await (lock !== null && isAdopted(lock)
    ? ofAdopted(flags, lock, context)
    : ofFleet(flags, context)
  ).finally(() => {
    if (context.terminal.animated) context.err(mark("clearLine"));
  });
  print(context, flags, auditToJson(found), (style) => auditLines(found, style));
  return exitCodeOf(found);
}

async function ofFleet(flags: AuditFlags, context: CommandContext): Promise<FleetAudit> {
  const { fleet, only } = await openFleetFor(flags, context);
  const lockFile = lockFileOf(flags);
  const lock = await readLock(lockFile);
  refuseAdoptedLock(lock, lockFile);
  const { auditFleet } = await import("../fleet/audit-fleet.ts");
  const replaceBases = parseReplacements(flags.replaceBase);
  return auditFleet(fleet, { ...(await optionsFor(flags, lock, context)), only, replaceBases });
}

/** There is no matrix to read. */
async function ofAdopted(flags: AuditFlags, lock: Lock, context: CommandContext): Promise<FleetAudit> {
  if (flags.registry !== undefined || (flags.replaceBase ?? []).length > 0)
    throw usageError(
      "--registry and --replace-base are about a matrix, and the lock holds images that others built",
      "leave them out",
    );
  const [{ auditAdopted }, { selectImages }] = await Promise.all([
    import("../fleet/audit-fleet.ts"),
    import("../fleet/cells/select.ts"),
  ]);
  return auditAdopted(await optionsFor(flags, selectImages(lock, flags.only ?? []), context));
}

async function optionsFor(flags: AuditFlags, lock: Lock, context: CommandContext): Promise<AuditOptions> {
  const { cacheFolder, folderCache } = await import("../inspect/image/layer-cache.ts");
  return {
    lock,
    registry: await registryFor(flags, context),
    env: context.env,
    remote: flags.remote ?? false,
    cache: folderCache(cacheFolder(context.env)),
    signal: context.signal,
    onImage: (cell, done, total) => {
      if (context.terminal.animated)
        context.err(`${mark("clearLine")}${done} of ${total} opened, now ${cell}`);
    },
  };
}

/** A lie is told before what could not be opened. */
function exitCodeOf({ cells }: FleetAudit): ExitCode {
  if (cells.some(({ lies }) => lies.length > 0)) return exitCodes.failed;
  const failure = cells.find((cell) => cell.failure !== null)?.failure ?? null;
  return failure === null ? exitCodes.ok : problemCodes[failure.code];
}
