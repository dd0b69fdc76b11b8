/** `imgmatch plan`: what would happen to each cell. Changes nothing. */

import { type ExitCode, exitCodes, type Problem, problemCodes, usageError } from "../errors.ts";
import { changedContext } from "../fleet/changed-context.ts";
import type { Fleet } from "../fleet/open-fleet.ts";
import type { FindBaseDigest } from "../fleet/plan-open-fleet.ts";
import type { RemotePlan } from "../fleet/plan-remote.ts";
import { explainInputs } from "../fleet/plan/changes.ts";
import { explainedToJson, planToJson } from "../fleet/plan/plan-json.ts";
import { findPlanned, openActions, type Plan } from "../fleet/plan/planned-cell.ts";
import { reportPlan } from "./report/plan.ts";
import type { CommandContext } from "./command-context.ts";
import type { FleetChoice } from "../fleet/fleet-choice.ts";
import { type LocalBaseChoice, planFor } from "../fleet/plan-choice.ts";
import { registryFor } from "../oci/registry/registry-access.ts";
import { overFleets } from "./over-fleets.ts";
import { print } from "./print.ts";
import { tellProblem } from "./print.ts";

export interface PlanFlags extends FleetChoice, LocalBaseChoice {
  readonly push?: boolean;
  /** Ask registries what is published already, and which bases have moved. */
  readonly remote?: boolean;
  /** Fail when anything is to be done. */
  readonly check?: boolean;
  /** A cell whose inputs are to be shown one by one. */
  readonly explain?: string;
}

async function plan(flags: PlanFlags, context: CommandContext): Promise<ExitCode> {
  const { remote = false, offline = false } = flags;
  if (remote && offline) {
    throw usageError("--remote asks registries, and --offline forbids it", "leave one of them out");
  }
  const problems: Problem[] = [];
  const onProblem = (problem: Problem) => problems.push(problem);
  const {
    plan: local,
    fleet,
    findBaseDigest,
  } = await planFor(flags, context, {
    onProblem,
    cell: flags.explain,
  });
  const { plan: planned, conflicts } = remote
    ? await asked(local, flags, context, findBaseDigest)
    : { plan: local, conflicts: [] };
  problems.push(...conflicts);
  if (flags.explain !== undefined) await explain(planned, fleet, flags.explain, flags, context);
  else print(context, flags, planToJson(planned, problems), (style) => reportPlan(planned, style));
  for (const problem of problems) tellProblem(problem, context);
  const unresolved = problems.find(({ code }) => code === "BASE_UNRESOLVED");
  if (unresolved !== undefined) return problemCodes[unresolved.code];
  return flags.check && (conflicts.length > 0 || hasWork(planned, flags.explain))
    ? exitCodes.failed
    : exitCodes.ok;
}

export const planFleets = overFleets(plan, () => "whole");

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
  plan: Plan,
  fleet: Fleet,
  id: string,
  flags: PlanFlags,
  context: CommandContext,
): Promise<void> {
  const planned = findPlanned(plan, id);
  const inputs = explainInputs(planned);
  const files = await changedContext(fleet, planned);
  const { reportCell } = await import("./report/explain-plan.ts");
  print(context, flags, explainedToJson(planned, inputs, files), (style) =>
    reportCell(planned, inputs, files, style),
  );
}

function hasWork({ cells, retired }: Plan, only: string | undefined): boolean {
  const meant = only === undefined ? cells : cells.filter(({ cell }) => cell.id === only);
  return (
    meant.some(({ action }) => openActions.includes(action)) || (only === undefined && retired.length > 0)
  );
}
