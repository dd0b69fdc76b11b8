/** Plans a fleet: the action of the next build for each cell, or for one cell with all inputs. Changes nothing. */

import { faultOf, type Problem, usageError } from "../errors.ts";
import { compareText, groupBy } from "../io/collections.ts";
import { count, firstOf } from "../io/table.ts";
import { inWorld, note, type Watching, type World } from "../io/world.ts";
import type { Digest } from "../oci/digest.ts";
import type { FullRegistryClient } from "../oci/registry/create-client.ts";
import { RegistryError } from "../oci/registry/registry-error.ts";
import { registryFor } from "../oci/registry/registry-access.ts";
import { unknownTargets } from "./cells/impossible.ts";
import { allEntries, type CellContext } from "./context/cell-context.ts";
import { recallContext } from "./context/context-record.ts";
import type { HostServices } from "./host-services.ts";
import { type FleetChoice, fleetAt } from "./open/fleet-choice.ts";
import { type LocalBaseChoice, type PreparedBuild, prepareBuild } from "./open/prepare-build.ts";
import { floorLines } from "./plan/base-floors.ts";
import { changedFiles, explainInputs } from "./plan/changes.ts";
import { type ExplainedCell, explainedToJson, type PlanJson, planToJson } from "./plan/plan-json.ts";
import { findPlanned, type Plan, type PlannedCell } from "./plan/planned-cell.ts";

export interface PlanOptions extends FleetChoice, LocalBaseChoice, Watching {
  /** Plan for `build --push`: images that were built and not pushed count as not built, and the version's index is read. */
  readonly push?: boolean;
  /** Ask registries for images that are published already, for bases that have moved, and for the version's index. */
  readonly remote?: boolean;
  /** The cell whose inputs are compared one by one. */
  readonly explain?: string;
}

export type ExplainedPlan = ExplainedCell;

/**
 * Plans a fleet. A base image without a known digest, or an image that the version's index would refuse or lacks, is a problem of the answer.
 * `explain` answers for one cell, and compares each of its inputs with the lock's.
 *
 * Throws `USAGE`, every mistake of the matrix at once, `TEMPLATE_…`, `CONTEXT_NOT_FOUND`, `LOCK_…`, `REGISTRY_…`, `CELL_NOT_FOUND`.
 *
 * @example
 * const { counts } = await plan({ push: true });
 */
export interface PlanFunction {
  (options: PlanOptions & { readonly explain: string }, world?: Partial<World>): Promise<ExplainedPlan>;
  (options?: Omit<PlanOptions, "explain">, world?: Partial<World>): Promise<PlanJson>;
}

export function planWith(ports: HostServices): PlanFunction {
  const face = (options: PlanOptions = {}, given?: Partial<World>): Promise<PlanJson | ExplainedPlan> =>
    inWorld(options, given, (world) => planIn(options, world), ports);
  return face as PlanFunction;
}

async function planIn(options: PlanOptions, world: World & HostServices): Promise<PlanJson | ExplainedPlan> {
  const { remote = false, offline = false, push = false, explain } = options;
  if (remote && offline) {
    throw usageError("--remote asks registries, and --offline forbids it", "leave one of them out");
  }
  const problems: Problem[] = [];
  const onProblem = (problem: Problem) => {
    problems.push(problem);
    world.onEvent({ type: "problem", problem });
  };
  const { fleet, lockFile, only: selected } = await fleetAt(options, world);
  // One cell alone: registries are asked for no other's bases.
  const only = explain === undefined ? selected : [{ cell: findPlanned(fleet, explain).cell.id }];
  const contextChanges = async (then: Digest, context: CellContext) => {
    // null if this machine did not build with the context of then.
    const recalled = await recallContext(fleet.root, then);
    return recalled && changedFiles(recalled, allEntries(context));
  };
  const asked = { only, lockFile, push, bases: options, local: options, onProblem, contextChanges };
  const local = await prepareBuild(fleet, asked, world);
  const connect = () => registryFor(options, world);
  note(world, deprecatedLines(local.plan.cells));
  note(world, floorLines(local.plan.cells));
  note(
    world,
    unknownTargets(local.plan.cells.flatMap(({ cell, action }) => (action === "build" ? [cell] : []))),
  );
  let unknown: string | null = null;
  const planned = !remote
    ? local.plan
    : await askRegistries(local, await connect(), onProblem).catch((error: unknown) => {
        unknown = `not known: which images of ${fleet.matrix.repository} are published. ${refusal(error)}`;
        return local.plan;
      });
  if (push && !remote && !offline) {
    const { pushConflicts } = await import("./publish/index-conflicts.ts");
    const tell = (line: string) => note(world, [line]);
    for (const problem of await pushConflicts(planned, connect, tell)) onProblem(problem);
  }
  if (explain === undefined) return planToJson(planned, problems, unknown);
  const cell = findPlanned(planned, explain);
  return explainedToJson(cell, explainInputs(cell));
}

/** A line for each day. */
function deprecatedLines(cells: readonly PlannedCell[]): readonly string[] {
  const alive = cells.filter(({ dockerfile }) => dockerfile !== null);
  return [...groupBy(alive, ({ cell }) => cell.deprecated)]
    .sort(([one = ""], [other = ""]) => compareText(one, other))
    .flatMap(([day, alike]) => {
      if (day === undefined) return [];
      const names = alike.map(({ cell }) => cell.id);
      return [`deprecated from ${day} on: ${count(names.length, "cell")}, ${firstOf(names, 3)}`];
    });
}

/** The words of a registry that this login may not read: a plan decides nothing, and goes on without. Throws any other error. */
function refusal(error: unknown): string {
  if (error instanceof RegistryError && error.code === "REGISTRY_AUTH") return faultOf(error);
  throw error;
}

async function askRegistries(
  { plan: local, lock, findBaseDigest }: PreparedBuild,
  registry: FullRegistryClient,
  onProblem: (problem: Problem) => void,
): Promise<Plan> {
  const [view, survey, { takeOverImages: carryImages }, { planIndexConflicts, withoutTaken }] =
    await Promise.all([
      import("./plan/registry-view.ts"),
      import("./publish/survey.ts"),
      import("./publish/carried-images.ts"),
      import("./publish/index-conflicts.ts"),
    ]);
  const { plan: carried } = await carryImages(local, { lock, index: false, ask: async () => registry });
  const found = await survey.surveyRegistries(carried, { registry, findBaseDigest });
  const planned = view.withRegistryView(carried, found);
  for (const problem of await withoutTaken(planIndexConflicts(planned, registry, lock))) onProblem(problem);
  return planned;
}
