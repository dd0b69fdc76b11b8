import type { BuildSummary } from "../build/fleet-builder.ts";
import { type ExitCode, exitCodes, type Problem, throwProblems } from "../errors.ts";
import { type Fleet, planOpenFleet } from "../fleet.ts";
import { readLock } from "../lock/lock-file.ts";
import { formatImageReference } from "../oci/reference.ts";
import type { Plan } from "../plan/planned-cell.ts";
import type { Selection } from "../plan/select.ts";
import { reportProblem } from "../report/problems.ts";
import { styleFor } from "../report/style.ts";
import { count } from "../report/table.ts";
import { type BuildFlags, runBuild } from "./build.ts";
import { exitCodeOf } from "./build-exit-code.ts";
import type { CommandContext } from "./context.ts";
import { type FleetFlags, lockFileOf, openFleetFor, parseReplacements } from "./fleet-options.ts";
import { registryFor } from "./registry-options.ts";

export type PublishFlags = BuildFlags;

/** `imgmatch publish`: pushes what was built and not pushed, then writes the version's index. Builds nothing new. */
export async function publish(flags: PublishFlags, context: CommandContext): Promise<ExitCode> {
  const { fleet, only } = await openFleetFor(flags);
  const before = await planPublished(fleet, only, flags);
  if (!flags.replaceIndex) await refuseConflicts(before, flags, context);
  const pushed = await pushBuilt(before, fleet, flags, context);
  const failure = pushed === null ? exitCodes.ok : exitCodeOf(pushed);
  if (failure === exitCodes.interrupted) return failure;
  const plan = pushed === null ? before : await planPublished(fleet, only, flags);
  // Where nothing could be pushed, why is what to tell, and not that there is nothing.
  if (failure !== exitCodes.ok && !plan.cells.some(({ action }) => action === "keep")) return failure;
  const done = await writeIndex(plan, flags, context);
  return failure === exitCodes.ok ? done : failure;
}

/** Before anything is pushed for an index that will not be written. */
async function refuseConflicts(plan: Plan, flags: PublishFlags, context: CommandContext): Promise<void> {
  const { planIndexConflicts } = await import("../publish/index-conflicts.ts");
  throwProblems(await planIndexConflicts(plan, await registryFor(flags, { env: context.env })));
}

/** What the lock on disk says now. Asks no registry: only what the lock pins can have been built. */
export async function planPublished(
  fleet: Fleet,
  only: readonly Selection[],
  flags: FleetFlags,
): Promise<Plan> {
  return planOpenFleet(fleet, {
    lock: await readLock(lockFileOf(flags)),
    only,
    published: true,
    replaceBases: parseReplacements(flags.replaceBase),
    findBaseDigest: async () => null,
  });
}

/**
 * Images that are in the engine and not in the registry: the engine still has their steps, so that building them again for
 * the push costs next to nothing, and what it has lost meanwhile is built again. null when there are none.
 */
async function pushBuilt(
  plan: Plan,
  fleet: Fleet,
  flags: PublishFlags,
  context: CommandContext,
): Promise<BuildSummary | null> {
  const waiting = plan.cells.filter(({ action, locked, inputDigest }) =>
    Boolean(
      action === "build" && locked?.created && locked.digest === null && locked.inputDigest === inputDigest,
    ),
  );
  if (waiting.length === 0) return null;
  return runBuild({ ...plan, cells: waiting }, fleet, { ...flags, push: true }, context);
}

/** Writes the index of all that the plan keeps. Shared with `build --index`. */
export async function writeIndex(
  plan: Plan,
  flags: PublishFlags,
  context: CommandContext,
): Promise<ExitCode> {
  context.takeSignals("finish");
  const [{ publishPlanIndex }, registry] = await Promise.all([
    import("../publish/publish-plan-index.ts"),
    // Not ended by an interruption: what is announced must be taken back.
    registryFor(flags, { env: context.env }),
  ]);
  const { reference, missing, published } = await publishPlanIndex(plan, {
    registry,
    replace: flags.replaceIndex ?? false,
    signal: context.signal,
  });
  const name = formatImageReference(reference);
  if (flags.json) {
    const answer = { schemaVersion: 1, type: "index", reference: `${name}@${published.digest}` };
    context.out(`${JSON.stringify({ ...answer, ...published, missing })}\n`);
  } else {
    context.out(`${name}@${published.digest}\n`);
    context.err(
      `index ${published.how}: ${count(published.cells, "image")}, ${published.added.length} added\n`,
    );
  }
  if (missing.length === 0) return exitCodes.ok;
  const problem: Problem = {
    code: "INDEX_INCOMPLETE",
    message: `${count(missing.length, "cell")} not in the index, because the registry does not have them as the matrix says: ${missing.slice(0, 5).join(", ")}${missing.length > 5 ? " …" : ""}`,
    fix: "run imgmatch build --push, or name with --only what is to be published",
  };
  if (!flags.json) context.err(`${reportProblem(problem, styleFor(context.terminal.color.err))}\n`);
  return exitCodes.failed;
}
