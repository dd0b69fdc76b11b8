/** A plan's images are built, get their names in a registry, and stand in the lock: for `build` and for `publish`. */

import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { type Problem, throwProblems } from "../errors.ts";
import type { ImageEffect } from "../inspect/audit/audit-image.ts";
import { cacheFolder, folderCache } from "../inspect/image/layer-cache.ts";
import { readRevision } from "../io/git.ts";
import { ignoresMarch } from "../lock/needed-requirement.ts";
import type { Watching, World } from "../io/world.ts";
import { registryFor } from "../oci/registry/registry-access.ts";
import type { Signer } from "../trust/sign/signer.ts";
import { version } from "../version.ts";
import { attesterOf, requireAttestable, unattestedImages } from "./attest-build.ts";
import { imageExaminer } from "./audit/image-examiner.ts";
import { unusedAxes } from "./audit/unused-axes.ts";
import { readOrigin } from "./build-origin.ts";
import { defaultEngine, type EngineChoice } from "./build/engines/engine-choice.ts";
import { engineTraits } from "./build/engines/engine-traits.ts";
import type { BuildSummary, FleetBuilder } from "./build/fleet-builder.ts";
import type { BuildEvent, CellResult } from "./build/schedule.ts";
import { sourceDateEpoch } from "./build/source-date-epoch.ts";
import { declaredImages } from "./audit/declared-image.ts";
import type { BuildContext } from "./dockerfile/context.ts";
import { recordContext } from "./dockerfile/context-record.ts";
import { type FleetChoice, lockFileOf, matrixPath } from "./open/fleet-choice.ts";
import type { Fleet } from "./open/open-fleet.ts";
import { publishedOnLocal } from "./plan/local-bases.ts";
import { countActions, type PlanJson } from "./plan/plan-json.ts";
import type { Plan } from "./plan/planned-cell.ts";
import type { Publication, PublicationEvent } from "./publication.ts";
import { registryPublisher } from "./publish/publish-image.ts";
import { type FleetSigner, signedPublisher } from "./sign-fleet.ts";
import type { SignerChoice } from "./open-signer.ts";

export interface BuildChoice extends FleetChoice, EngineChoice, SignerChoice, Watching<FleetBuildEvent> {
  /** Cells at one time. Default: as many as this machine has processors, up to 16. */
  readonly concurrency?: number;
  /** Let the version's index say something else than it does now. */
  readonly replaceIndex?: boolean;
}

/** Each is a line of `--json`, except `plan`, with which a build begins, and `publish`: from there on an interruption waits. */
export type FleetBuildEvent =
  | { readonly type: "plan"; readonly counts: PlanJson["counts"] }
  | BuildEvent
  | SummaryEvent
  | PublicationEvent;

export interface SummaryEvent {
  readonly type: "summary";
  readonly schemaVersion: 1;
  readonly built: number;
  readonly adopted: number;
  readonly failed: number;
  readonly interrupted: number;
  readonly kept: number;
  readonly results: readonly CellResult[];
}

export interface BuildAnswer extends BuildSummary, Publication {
  readonly schemaVersion: 1;
}

/** Opens the builder that options choose: Pulumi's is in another hall, which this one does not know. */
export type BuilderFor = (choice: EngineChoice, world: Pick<World, "env">) => Promise<FleetBuilder>;

interface Building {
  readonly fleet: Fleet;
  readonly push: boolean;
  readonly builderFor: BuilderFor;
  /** Of provenance; null where nobody signs. */
  readonly signer: Signer | null;
  readonly signing: FleetSigner | null;
  readonly strict: boolean;
}

/**
 * A cell that fails, or whose base is unknown, does not stop the others. Throws what the builder throws before the first cell, and after the
 * last `AUDIT_AXIS_UNUSED` where that is asked for.
 */
export async function runBuild(
  plan: Plan,
  options: BuildChoice,
  world: World<FleetBuildEvent>,
  building: Building,
): Promise<BuildSummary> {
  const counts = countActions(plan);
  world.onEvent({ type: "plan", counts });
  const effects = new Map<string, ImageEffect>();
  const summary =
    counts.build === 0
      ? { results: [], kept: counts.keep, interrupted: false }
      : await buildCells(plan, options, world, building, (cell, effect) => effects.set(cell, effect));
  world.onEvent(summaryEvent(summary));
  if (building.push)
    for (const problem of unattestedImages(plan, summary)) world.onEvent({ type: "problem", problem });
  const unused = unusedIn(plan, effects);
  if (building.strict && !summary.interrupted) throwProblems(unused);
  for (const problem of unused) world.onEvent({ type: "problem", problem });
  return summary;
}

const unknownEffect: ImageEffect = {
  code: null,
  layers: null,
  settings: null,
  ignoresMarch: false,
  uncompiled: [],
};

/** Of images that the lock kept, what it says. */
function unusedIn({ cells }: Plan, effects: ReadonlyMap<string, ImageEffect>): readonly Problem[] {
  const made = cells.flatMap(({ cell, action, locked }) => {
    const kept = action === "keep" && locked !== null && locked !== undefined && ignoresMarch(locked);
    const effect = kept ? { ...unknownEffect, ignoresMarch: true } : effects.get(cell.id);
    return effect === undefined ? [] : [{ cell, effect }];
  });
  return unusedAxes(made).map(({ problem }) => problem);
}

async function buildCells(
  plan: Plan,
  options: BuildChoice,
  world: World<FleetBuildEvent>,
  { fleet, push, builderFor, signer, signing }: Building,
  onEffect: (cell: string, effect: ImageEffect) => void,
): Promise<BuildSummary> {
  const { env } = world;
  const { matrix = matrixPath, concurrency = buildsAtOnce(), engine = defaultEngine } = options;
  const builder = await builderFor(options, world);
  if (push) for (const problem of publishedOnLocal(plan)) world.onEvent({ type: "problem", problem });
  // Not ended by an interruption: what is pushed gets its name.
  const registry = await registryFor(options, { env });
  requireAttestable(plan.matrix, builder, fleet);
  for (const context of builtContexts(plan)) await recordContext(fleet.root, context);
  const epoch = sourceDateEpoch(env);
  const revision = await readRevision(fleet.root, env);
  const publisher = registryPublisher(registry);
  // An image that Pulumi's plug-in pushes has its tag at once.
  const isUnsigned = signing === null || engineTraits[engine].stacks;
  return builder.build(plan, fleet, {
    publisher: push ? (isUnsigned ? publisher : signedPublisher(publisher, signing)) : null,
    examiner: plan.matrix.measure
      ? imageExaminer({
          declared: declaredImages(plan),
          onEffect,
          registry,
          holder: builder,
          cache: folderCache(cacheFolder(env)),
        })
      : null,
    attester:
      push && plan.matrix.attest !== null
        ? attesterOf(plan, {
            ...{ registry, signer, attests: builder.attests, engine: builder.describe },
            origin: { program: version, ...(await readOrigin(fleet.root, env)), revision },
          })
        : undefined,
    lockFile: lockFileOf(options),
    logFolder: join(dirname(matrix), ".imgmatch", "logs"),
    concurrency,
    revision,
    now: () => (epoch === null ? new Date() : new Date(epoch * 1000)),
    onEvent: world.onEvent,
    ...(world.signal && { drain: world.signal }),
  });
}

/** Each once, of the cells that are to be built. */
function builtContexts({ cells }: Plan): readonly BuildContext[] {
  const contexts = cells.flatMap(({ action, context }) =>
    action === "build" && context !== null ? [[context.digest, context] as const] : [],
  );
  return [...new Map(contexts).values()];
}

/** A build is a compiler's work: more at one time than there are processors take no less time, and more memory. */
export function buildsAtOnce(): number {
  return Math.min(availableParallelism(), 16);
}

function summaryEvent({ results, kept }: BuildSummary): SummaryEvent {
  const countOf = (found: (result: CellResult) => boolean) => results.filter(found).length;
  const adopted = countOf((result) => result.status === "built" && result.how === "adopted");
  return {
    type: "summary",
    schemaVersion: 1,
    built: countOf(({ status }) => status === "built") - adopted,
    adopted,
    failed: countOf(({ status }) => status === "failed"),
    interrupted: countOf(({ status }) => status === "interrupted"),
    kept,
    results,
  };
}
