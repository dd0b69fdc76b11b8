/** `imgmatch plan`: what would happen to each cell. Changes nothing. */

import { type ExitCode, exitCodes, ImgmatchError, type Problem, problemCodes } from "../errors.ts";
import { type FindBaseDigest, planOpenFleet } from "../fleet/plan-open-fleet.ts";
import type { RemotePlan } from "../fleet/plan-remote.ts";
import { readLockIfPresent } from "../lock/lock-file.ts";
import { explainInputs } from "../plan/changes.ts";
import { planToJson } from "../plan/plan-json.ts";
import { openActions, type Plan } from "../plan/planned-cell.ts";
import { reportPlan } from "../report/plan.ts";
import { reportProblem } from "../report/problems.ts";
import { styleFor } from "../report/style.ts";
import type { CommandContext } from "./context.ts";
import { baseLookup, type FleetFlags, lockFileOf, openFleetFor, parseReplacements } from "./fleet-options.ts";
import { registryFor } from "./registry-options.ts";

export interface PlanFlags extends FleetFlags {
  readonly push?: boolean;
  /** Ask registries what is published already, and which bases have moved. */
  readonly remote?: boolean;
  /** Fail when anything is to be done. */
  readonly check?: boolean;
  /** A cell whose inputs are to be shown one by one. */
  readonly explain?: string;
  readonly json?: boolean;
}

export async function plan(flags: PlanFlags, context: CommandContext): Promise<ExitCode> {
  const { remote = false, offline = false } = flags;
  if (remote && offline) {
    throw new ImgmatchError({
      code: "USAGE",
      message: "--remote asks registries, and --offline forbids it",
      fix: "leave one of them out",
    });
  }
  const { fleet, only } = await openFleetFor(flags);
  const problems: Problem[] = [];
  const findBaseDigest = await baseLookup(flags, context, (problem) => problems.push(problem));
  const local = await planOpenFleet(fleet, {
    lock: await readLockIfPresent(lockFileOf(flags)),
    only,
    published: flags.push ?? false,
    replaceBases: parseReplacements(flags.replaceBase),
    findBaseDigest,
  });
  const { plan: planned, conflicts } = remote
    ? await asked(local, flags, context, findBaseDigest)
    : { plan: local, conflicts: [] };
  problems.push(...conflicts);
  const style = styleFor(context.terminal.color.out);
  if (flags.explain !== undefined) await explain(planned, flags.explain, flags, context);
  else if (flags.json) context.out(`${JSON.stringify(planToJson(planned, problems), null, 2)}\n`);
  else context.out(reportPlan(planned, style));
  for (const problem of problems)
    context.err(`${reportProblem(problem, styleFor(context.terminal.color.err))}\n`);
  const unresolved = problems.find(({ code }) => code === "BASE_UNRESOLVED");
  if (unresolved !== undefined) return problemCodes[unresolved.code];
  return flags.check && (conflicts.length > 0 || hasWork(planned, flags.explain))
    ? exitCodes.failed
    : exitCodes.ok;
}

async function asked(
  plan: Plan,
  flags: PlanFlags,
  context: CommandContext,
  findBaseDigest: FindBaseDigest,
): Promise<RemotePlan> {
  const { planRemote } = await import("../fleet/plan-remote.ts");
  return planRemote(plan, { registry: await registryFor(flags, context), findBaseDigest });
}

async function explain(
  { cells, matrix }: Plan,
  id: string,
  { json }: PlanFlags,
  context: CommandContext,
): Promise<void> {
  const planned = cells.find(({ cell }) => cell.id === id);
  if (planned === undefined) {
    throw new ImgmatchError({
      code: "CELL_NOT_FOUND",
      message: `${matrix.file} has no cell ${JSON.stringify(id)}`,
      fix: "imgmatch plan lists the cells",
    });
  }
  const inputs = explainInputs(planned);
  if (json) {
    const { action, reason, tag, inputDigest, locked, moved } = planned;
    const answer = { schemaVersion: 1, cell: id, action, reason, tag, inputDigest };
    const was = locked === null ? null : locked.inputDigest;
    context.out(`${JSON.stringify({ ...answer, lockedInputDigest: was, inputs, moved }, null, 2)}\n`);
    return;
  }
  const { reportCell } = await import("../report/explain-plan.ts");
  context.out(reportCell(planned, inputs, styleFor(context.terminal.color.out)));
}

function hasWork({ cells, retired }: Plan, only: string | undefined): boolean {
  const meant = only === undefined ? cells : cells.filter(({ cell }) => cell.id === only);
  return (
    meant.some(({ action }) => openActions.includes(action)) || (only === undefined && retired.length > 0)
  );
}
