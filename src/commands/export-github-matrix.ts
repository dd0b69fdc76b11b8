import { type ExitCode, exitCodes } from "../errors.ts";
import { shardCells } from "../export/shards.ts";
import type { CommandContext } from "./context.ts";
import { type ExportFlags, planForExport } from "./export-plan.ts";

const defaultShards = 16;

/** `imgmatch export github-matrix`: jobs for the cells that need work, on one line for a step's output. */
export async function exportGithubMatrix(flags: ExportFlags, context: CommandContext): Promise<ExitCode> {
  const { plan } = await planForExport(flags, context);
  const cells = plan.cells
    .filter(({ action }) => action === "build" || action === "adopt")
    .map(({ cell, bases }) => ({
      id: cell.id,
      platform: cell.platform,
      bases: bases.map(({ used }) => used),
    }));
  context.out(`${JSON.stringify({ include: shardCells(cells, flags.shards ?? defaultShards) })}\n`);
  return exitCodes.ok;
}
