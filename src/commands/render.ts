/** `imgmatch render`: writes one Dockerfile per cell that can be built. */

import { type ExitCode, exitCodes, ImgmatchError } from "../errors.ts";
import { checkFleet, type RenderedFleet, renderFleet } from "../fleet/render-fleet.ts";
import { hasDrift } from "../render/drift.ts";
import { printableReport } from "../input/printable.ts";
import { count } from "../report/table.ts";
import type { CommandContext } from "./context.ts";
import { type FleetFlags, openFleetFor } from "./fleet-options.ts";

export interface RenderFlags extends FleetFlags {
  /** Fail on drift instead of writing. */
  readonly check?: boolean;
  /** Remove Dockerfiles of no cell. */
  readonly prune?: boolean;
  /** Folder to write to in place of the matrix's own. */
  readonly out?: string;
  readonly json?: boolean;
}

export async function render(flags: RenderFlags, context: CommandContext): Promise<ExitCode> {
  const { fleet, only } = await openFleetFor(flags);
  const options = { only, root: flags.out, prune: flags.prune };
  if (flags.check) return check(checkFleet(fleet, options), flags, context);
  const { rendered, drift } = renderFleet(fleet, options);
  const { orphans } = drift;
  const written = [...new Set([...drift.missing, ...drift.changed])].sort();
  const removed = flags.prune ? orphans : [];
  if (flags.json) {
    const answer = {
      schemaVersion: 1,
      rendered,
      written,
      removed,
      orphans: flags.prune ? [] : orphans,
    };
    context.out(`${JSON.stringify(answer, null, 2)}\n`);
    return exitCodes.ok;
  }
  context.out(
    `${count(rendered, "Dockerfile")}: ${written.length} written, ${rendered - written.length} unchanged${removed.length > 0 ? `, ${removed.length} removed` : ""}\n`,
  );
  if (!flags.prune) {
    for (const path of orphans)
      context.err(printableReport([`${path} belongs to no cell; --prune removes it`]));
  }
  return exitCodes.ok;
}

function check({ drift, rendered }: RenderedFleet, { json }: RenderFlags, context: CommandContext): ExitCode {
  if (json) context.out(`${JSON.stringify({ schemaVersion: 1, rendered, ...drift }, null, 2)}\n`);
  if (!hasDrift(drift)) {
    if (!json) context.out(`${count(rendered, "Dockerfile")} up to date\n`);
    return exitCodes.ok;
  }
  if (json) return exitCodes.failed;
  const list = [
    ...drift.missing.map((path) => `${path} is missing`),
    ...drift.changed.map((path) => `${path} differs`),
    ...drift.orphans.map((path) => `${path} belongs to no cell`),
  ];
  throw new ImgmatchError({
    code: "RENDER_DRIFT",
    message: `${count(list.length, "Dockerfile")} out of date:`,
    details: list.map((line) => `  ${line}`),
    fix: drift.orphans.length > 0 ? "run imgmatch render --prune" : "run imgmatch render",
  });
}
