/** `imgmatch audit`: whether the images of a fleet are what was declared. */

import { type ExitCode, exitCodes, problemCodes } from "../errors.ts";
import type { FleetAudit } from "../fleet/audit-fleet.ts";
import { printableReport } from "../input/printable.ts";
import { readLock } from "../lock/lock-file.ts";
import { auditLines, auditToJson } from "../report/audit.ts";
import { styleFor } from "../report/style.ts";
import { mark } from "../report/terminal-text.ts";
import type { CommandContext } from "./context.ts";
import { type FleetFlags, lockFileOf, openFleetFor, parseReplacements } from "./flags/fleet.ts";
import { registryFor } from "./flags/registry.ts";
import { print } from "./print.ts";

export interface AuditFlags extends FleetFlags {
  readonly remote?: boolean;
  readonly json?: boolean;
}

export async function audit(flags: AuditFlags, context: CommandContext): Promise<ExitCode> {
  const { fleet, only } = await openFleetFor(flags);
  const [lock, { auditFleet }, { cacheFolder, folderCache }] = await Promise.all([
    readLock(lockFileOf(flags)),
    import("../fleet/audit-fleet.ts"),
    import("../inspect/image/layer-cache.ts"),
  ]);
  const { animated } = context.terminal;
  const found = await auditFleet(fleet, {
    lock,
    only,
    replaceBases: parseReplacements(flags.replaceBase),
    registry: await registryFor(flags, context),
    env: context.env,
    remote: flags.remote ?? false,
    cache: folderCache(cacheFolder(context.env)),
    signal: context.signal,
    onImage: (cell, done, total) => {
      if (animated) context.err(`${mark("clearLine")}${done} of ${total} opened, now ${cell}`);
    },
  }).finally(() => {
    if (animated) context.err(mark("clearLine"));
  });
  const style = styleFor(context.terminal.color.out);
  print(context, flags, auditToJson(found), () => printableReport(auditLines(found, style)));
  return exitCodeOf(found);
}

/** A lie is told before what could not be opened. */
function exitCodeOf({ cells }: FleetAudit): ExitCode {
  if (cells.some(({ lies }) => lies.length > 0)) return exitCodes.failed;
  const failure = cells.find((cell) => cell.failure !== null)?.failure ?? null;
  return failure === null ? exitCodes.ok : problemCodes[failure.code];
}
