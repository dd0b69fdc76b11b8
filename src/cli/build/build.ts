/** `imgmatch build`: builds what the lock does not have, and writes the lock after every cell. */

import { tellSigned } from "../tell-signed.ts";
import { engineTraits } from "../../fleet/build/engines/engine-traits.ts";
import type { StackPreview } from "../../fleet/build/fleet-builder.ts";
import {
  type ExitCode,
  exitCodes,
  type Problem,
  problemCodes,
  throwProblems,
  usageError,
} from "../../errors.ts";
import type { Fleet } from "../../fleet/open-fleet.ts";
import { unattestedImages } from "../../fleet/unattested.ts";
import { readRevision } from "../../io/git.ts";
import { planToJson } from "../../fleet/plan/plan-json.ts";
import type { Plan } from "../../fleet/plan/planned-cell.ts";
import type { Selection } from "../../fleet/cells/select.ts";
import { describeNothing } from "../report/build.ts";
import { reportPlan, summarise } from "../report/plan.ts";
import type { CommandContext } from "../command-context.ts";
import { readLockIfPresent } from "../../lock/lock-file.ts";
import { requirePush } from "../../fleet/build/engines/engine-choice.ts";
import { fleetBuilderFor } from "../../pulumi/builder-choice.ts";
import { lockFileOf, parseReplacements } from "../../fleet/fleet-choice.ts";
import { planFor } from "../../fleet/plan-choice.ts";
import { registryFor } from "../../oci/registry/registry-access.ts";
import { openSigner, signingFor } from "../../fleet/signing.ts";
import type { FleetSigning } from "../../fleet/sign-fleet.ts";
import { overFleets } from "../over-fleets.ts";
import { print } from "../print.ts";
import { tellProblem } from "../print.ts";
import { type BuildFlags, checkProgress, exitCodeOf, reporterFor, runBuild } from "./run-builder.ts";
import { tellIndex } from "./tell-index.ts";
import { publishedDigests } from "../../fleet/plan/published-digests.ts";

async function build(flags: BuildFlags, context: CommandContext): Promise<ExitCode> {
  checkIndexFlags(flags);
  checkProgress(flags);
  if (!flags.dryRun) requirePush(flags, flags.push ?? false);
  const signer = await openSigner(flags, context);
  const problems: Problem[] = [];
  const onProblem = (problem: Problem) => {
    problems.push(problem);
    tellProblem(problem, context);
  };
  const { fleet, only, plan } = await planFor(flags, context, {
    onProblem,
    writes: !flags.dryRun,
    // A dry run needs no engine.
    keeper: flags.push || flags.dryRun ? null : engineTraits[flags.engine].keeper,
  });
  const conflicts = await foundConflicts(plan, flags, context);
  if (flags.dryRun) {
    const stacks = await previewFor(plan, fleet, flags, context);
    const answer = { ...planToJson(plan, problems), ...(stacks === null ? {} : { stacks }) };
    const previews = (stacks ?? []).map(describePreview).join("");
    print(context, flags, answer, (style) => reportPlan(plan, style) + previews);
    const [unresolved] = problems;
    for (const problem of conflicts) tellProblem(problem, context);
    if (unresolved !== undefined) return problemCodes[unresolved.code];
    return conflicts.length === 0 ? exitCodes.ok : exitCodes.conflict;
  }
  // What the index will refuse is refused before anything is built and pushed for it.
  throwProblems(conflicts);
  const vouching =
    signer === null
      ? null
      : // Not ended by an interruption: what has been pushed is signed.
        await signingFor(
          signer,
          fleet.matrix.repository,
          await registryFor(flags, { env: context.env }),
          flags,
          context,
        );
  if (plan.cells.every(({ action }) => action !== "build")) {
    const kept = plan.cells.filter(({ action }) => action === "keep").length;
    if (flags.json) reporterFor(flags, plan, context).end({ results: [], kept, interrupted: false });
    else if (flags.progress !== "quiet") context.err(`${describeNothing(kept)}\n`);
    if (flags.push)
      for (const problem of unattestedImages(plan, { results: [] })) tellProblem(problem, context);
    return afterPush(exitCodes.ok, { fleet, only, vouching }, flags, context);
  }
  if (!flags.json && flags.progress !== "quiet") context.err(`${summarise(plan)}\n`);
  const exitCode = exitCodeOf(await runBuild(plan, fleet, flags, context, { signer, signing: vouching }));
  if (exitCode === exitCodes.interrupted) return exitCode;
  return afterPush(exitCode, { fleet, only, vouching }, flags, context);
}

export const buildFleets = overFleets(build, ({ dryRun }) => (dryRun ? "whole" : "lines"));

/** What the index that is to be written would refuse. */
async function foundConflicts(
  plan: Plan,
  flags: BuildFlags,
  context: CommandContext,
): Promise<readonly Problem[]> {
  if (!flags.index || flags.replaceIndex || (flags.dryRun && flags.offline)) return [];
  const { planIndexConflicts } = await import("../../fleet/publish/index-conflicts.ts");
  return planIndexConflicts(plan, await registryFor(flags, context));
}

function checkIndexFlags({ push, index, replaceIndex, sign }: BuildFlags): void {
  if (sign && !push)
    throw usageError("--sign signs what the registry has, and without --push nothing is there", "add --push");
  if (index && !push) {
    throw usageError("--index names images in the registry, and without --push there are none", "add --push");
  }
  if (replaceIndex && !index) {
    throw usageError(
      "--replace-index is about the index, and without --index none is written",
      "add --index",
    );
  }
}

/** null for engines that keep no state to compare with: they need not be there for a dry run. */
async function previewFor(
  plan: Plan,
  fleet: Fleet,
  flags: BuildFlags,
  context: CommandContext,
): Promise<readonly StackPreview[] | null> {
  if (!engineTraits[flags.engine].stacks) return null;
  const builder = await fleetBuilderFor(flags, context);
  const push = flags.push ?? false;
  const { previewBuilder } = await import("../../fleet/build-plan.ts");
  return previewBuilder(builder, plan, fleet, {
    push,
    registry: push ? await registryFor(flags, { env: context.env }) : null,
    revision: await readRevision(fleet.root, context.env),
    concurrency: flags.concurrency,
  });
}

function describePreview({ stack, changes }: StackPreview): string {
  const parts = Object.entries(changes).map(([operation, count]) => `${count} ${operation}`);
  return `stack ${stack}: ${parts.join(", ") || "nothing"}\n`;
}

interface Built {
  readonly fleet: Fleet;
  readonly only: readonly Selection[];
  readonly vouching: FleetSigning | null;
}

/** Signs, and writes the index of, what is published now, also where some cells failed. The first failure is the one to tell. */
async function afterPush(
  exitCode: ExitCode,
  { fleet, only, vouching }: Built,
  flags: BuildFlags,
  context: CommandContext,
): Promise<ExitCode> {
  if (!flags.index && vouching === null) return exitCode;
  const lockFile = lockFileOf(flags);
  // Where nothing could be built, why is what to tell, and not that there is no lock.
  if (exitCode !== exitCodes.ok && (await readLockIfPresent(lockFile)) === null) return exitCode;
  context.takeSignals("finish");
  const [{ planPublished }, { publishPlanIndex }, registry] = await Promise.all([
    import("../../fleet/publish-fleet.ts"),
    import("../../fleet/publish/publish-plan-index.ts"),
    // Not ended by an interruption: what is announced must be taken back.
    registryFor(flags, { env: context.env }),
  ]);
  const plan = await planPublished(fleet, {
    lockFile,
    only,
    replaceBases: parseReplacements(flags.replaceBase),
  });
  if (!flags.index) {
    await vouching?.vouch(publishedDigests(plan));
    tellSigned(vouching, flags, context);
    return exitCode;
  }
  const replace = flags.replaceIndex ?? false;
  const { signal } = context;
  const index = await publishPlanIndex(plan, { registry, replace, vouching: vouching ?? undefined, signal });
  tellSigned(vouching, flags, context);
  const written = tellIndex(index, flags, context);
  return exitCode === exitCodes.ok ? written : exitCode;
}
