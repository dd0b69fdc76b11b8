/** `imgmatch export github-matrix`: jobs for the cells that need work, on one line for a step's output. */

import { type ExitCode, exitCodes } from "../../errors.ts";
import { shardPlan } from "../../fleet/shard-plan.ts";
import type { CommandContext } from "../command-context.ts";
import { type ExportFlags, planForExport } from "../../fleet/plan-choice.ts";

const defaultShards = 16;

export async function exportGithubMatrix(flags: ExportFlags, context: CommandContext): Promise<ExitCode> {
  const { plan } = await planForExport(flags, context);
  context.out(`${JSON.stringify({ include: shardPlan(plan, flags.shards ?? defaultShards) })}\n`);
  return exitCodes.ok;
}
