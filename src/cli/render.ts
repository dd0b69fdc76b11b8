/** `imgmatch render`: writes one Dockerfile per cell that can be built. */

import { type ExitCode, exitCodes } from "../errors.ts";
import { checkFleet, type RenderedFleet, renderFleet } from "../fleet/render-fleet.ts";
import { driftError, hasDrift } from "../fleet/dockerfile/drift.ts";
import { count } from "../io/table.ts";
import type { CommandContext } from "./command-context.ts";
import { type FleetChoice, openFleetFor } from "../fleet/fleet-choice.ts";
import { print, tell } from "./print.ts";

export interface RenderFlags extends FleetChoice {
  /** Fail on drift instead of writing. */
  readonly check?: boolean;
  /** Remove Dockerfiles of no cell. */
  readonly prune?: boolean;
  /** Folder to write to in place of the matrix's own. */
  readonly out?: string;
}

export async function render(flags: RenderFlags, context: CommandContext): Promise<ExitCode> {
  const { fleet, only } = await openFleetFor(flags, context);
  const options = { only, root: flags.out, prune: flags.prune };
  if (flags.check) return check(checkFleet(fleet, options), flags, context);
  const { rendered, drift } = renderFleet(fleet, options);
  const { orphans } = drift;
  const written = [...new Set([...drift.missing, ...drift.changed])].sort();
  const removed = flags.prune ? orphans : [];
  const tail = removed.length > 0 ? `, ${removed.length} removed` : "";
  print(
    context,
    flags,
    { schemaVersion: 1, rendered, written, removed, orphans: flags.prune ? [] : orphans },
    () =>
      `${count(rendered, "Dockerfile")}: ${written.length} written, ${rendered - written.length} unchanged${tail}\n`,
  );
  if (!flags.prune && !flags.json)
    tell(
      orphans.map((path) => `${path} belongs to no cell; --prune removes it`),
      context,
    );
  return exitCodes.ok;
}

function check({ drift, rendered }: RenderedFleet, flags: RenderFlags, context: CommandContext): ExitCode {
  const isCurrent = !hasDrift(drift);
  if (!isCurrent && !flags.json) throw driftError(drift);
  print(
    context,
    flags,
    { schemaVersion: 1, rendered, ...drift },
    () => `${count(rendered, "Dockerfile")} up to date\n`,
  );
  return isCurrent ? exitCodes.ok : exitCodes.failed;
}
