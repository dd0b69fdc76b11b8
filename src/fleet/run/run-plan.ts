/** Builds the cells of a plan, gives the images their tags, and writes them into the lock: for `build` and for `publish`. */

import { availableParallelism } from "node:os";
import { join } from "node:path";
import { type Problem, throwProblems } from "../../errors.ts";
import type { ImageEffect } from "../../lock/image-audit.ts";
import { readRevision } from "../../io/git.ts";
import type { Watching, World } from "../../io/world.ts";
import type { LockedImage } from "../../lock/lock.ts";
import { ignoresMarch } from "../../lock/needed-requirement.ts";
import { updateLock } from "../../lock/store/update-lock.ts";
import type { FullRegistryClient } from "../../oci/registry/create-client.ts";
import type { RegistryAccess } from "../../oci/registry/registry-flags.ts";
import { version } from "../../version.ts";
import { auditImages, auditSubject, isBuilt } from "../audit/audit-images.ts";
import { declaredImages } from "../audit/declared-image.ts";
import { type Examining, imageExaminer } from "../audit/image-examiner.ts";
import { dockerHolder, type ImageHolder } from "../../oci/engine/built-image.ts";
import { unusedAxes } from "../audit/unused-axes.ts";
import {
  type Builder,
  type BuildEvent,
  type BuildSummary,
  type CellResult,
  lockEntryOf,
  withImages,
} from "../engines/built-cell.ts";
import type { Engine } from "../engines/engine.ts";
import { defaultEngine, type EngineChoice, engineFor } from "../engines/engine-choice.ts";
import { engineTraits } from "../engines/engine-traits.ts";
import {
  type FleetSources,
  isReady,
  jobOf,
  type ReadyCell,
  unreadyProblem,
  type UnresolvedBases,
} from "../engines/jobs.ts";
import { sourceDateEpoch } from "../engines/source-date-epoch.ts";
import type { BuildContext } from "../context/context.ts";
import { allEntries } from "../context/cell-context.ts";
import { recordContext } from "../context/context-record.ts";
import type { FleetChoice } from "../open/fleet-choice.ts";
import type { Fleet } from "../open/open-fleet.ts";
import { publishedOnLocal } from "../plan/local-bases.ts";
import { countActions, type PlanJson } from "../plan/plan-json.ts";
import type { Plan, PlannedCell } from "../plan/planned-cell.ts";
import { imageAttester, requireAttestable, unattestedImages } from "../publish/attest-image.ts";
import type { SignerChoice } from "../../oci/trust-flags.ts";
import type { Publication, PublicationEvent } from "../publish/publication.ts";
import type { FleetSigner, Sealing } from "../publish/seal.ts";
import { readOrigin } from "../publish/build-origin.ts";
import { buildJobs, type BuildJobsOptions } from "./build-cells.ts";

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

/** What a build is handed: what opens images, what signs and attests. */
export interface BuildPorts extends Examining, Sealing {}

export interface RunPlanOptions {
  readonly engine: EngineChoice;
  readonly access: RegistryAccess;
  /** For what is built and pushed. */
  readonly registry: FullRegistryClient;
  readonly lockFile: string;
  readonly concurrency: number | undefined;
  readonly push: boolean;
  /** null where nobody signs. */
  readonly signing: FleetSigner | null;
  /** Throw `AUDIT_…` for what is wrong with the images of all cells of the plan, also of those that are kept. */
  readonly strict: boolean;
  readonly unresolved?: UnresolvedBases;
}

/**
 * A cell that fails, or whose base is unknown, does not stop the others. Throws what the engine throws before the first cell, and after the last
 * one the signal's reason, and with `strict` what {@link keptFindings} finds, and the same of the images that were built.
 */
export async function runPlan(
  plan: Plan,
  fleet: Fleet,
  options: RunPlanOptions,
  world: World<FleetBuildEvent> & BuildPorts,
): Promise<BuildSummary> {
  const counts = countActions(plan);
  world.onEvent({ type: "plan", counts });
  const effects = new Map<string, ImageEffect>();
  const onEffect: OnEffect = (cell, effect) => effects.set(cell, effect);
  const summary =
    counts.build === 0
      ? { results: [], kept: counts.keep }
      : await buildMissing(plan, fleet, options, world, onEffect);
  world.onEvent(summaryEvent(summary));
  world.signal?.throwIfAborted();
  const isJudged = options.strict && plan.matrix.measure;
  const kept = isJudged ? await keptFindings(plan, options, world, onEffect) : [];
  const unused = unusedIn(plan, effects);
  const notes = options.push ? unattestedImages(plan, summary) : [];
  for (const problem of notes) world.onEvent({ type: "problem", problem });
  const warnings = summary.results.flatMap((result) => (result.status === "built" ? result.warnings : []));
  if (isJudged) throwProblems([...unused, ...warnings.filter(isStrict), ...kept]);
  for (const problem of unused) world.onEvent({ type: "problem", problem });
  return summary;
}

/** A warning that `strict` makes an error. */
function isStrict({ code }: Problem): boolean {
  return code === "AUDIT_CPU_COMPILED_FOR";
}

/**
 * Opens the images of kept cells again: a finding that failed one build fails the next build until somebody cures the cause. An image that
 * cannot be opened is a finding.
 */
async function keptFindings(
  plan: Plan,
  { engine: choice, access }: RunPlanOptions,
  world: World<FleetBuildEvent> & BuildPorts,
  onEffect: OnEffect,
): Promise<readonly Problem[]> {
  const kept = plan.cells.filter(({ action }) => action === "keep").filter(isBuilt);
  const engine = kept.some(({ locked }) => locked.digest === null) ? await engineFor(choice, world) : null;
  const audited = await auditImages(kept.map(auditSubject), plan.matrix, {
    ...{ access, world, onEffect },
    holder: engine === null ? dockerHolder(world.env) : holderOf(engine),
  });
  return audited.flatMap(({ lies, notes, failure }) => [
    ...lies,
    ...notes.filter(isStrict),
    ...(failure === null ? [] : [failure]),
  ]);
}

async function buildMissing(
  plan: Plan,
  fleet: Fleet,
  { engine: choice, registry, concurrency = buildsAtOnce(), push, signing, ...options }: RunPlanOptions,
  { env, signal, onEvent, ...ports }: World<FleetBuildEvent> & BuildPorts,
  onEffect: OnEffect,
): Promise<BuildSummary> {
  const engine = await engineFor(choice, { env });
  if (push) for (const problem of publishedOnLocal(plan)) onEvent({ type: "problem", problem });
  requireAttestable(plan.matrix, engine, fleet);
  for (const context of builtContexts(plan)) await recordContext(fleet.root, context);
  const [described, revision] = [await engine.describe(), await readRevision(fleet.root, env)];
  const epoch = sourceDateEpoch(env);
  const attester = async () =>
    imageAttester(plan, {
      ...{ registry, attests: engine.attests, builder: described, signer: signing, sealing: ports },
      origin: { program: version, ...(await readOrigin(fleet.root, env)), revision },
    });
  const attest = push && plan.matrix.attest !== null ? await attester() : null;
  const declared = declaredImages(plan);
  const examiner = async () =>
    imageExaminer(await ports.openAuditor({ registry, holder: holderOf(engine), declared, env }), {
      declared,
      onEffect,
    });
  return buildPlan(plan, fleet, {
    ...{ engine, revision, concurrency, onEvent, lockFile: options.lockFile, drain: signal },
    builder: { described, localEngine: engineTraits[choice.engine ?? defaultEngine].localEngine },
    publishing: push ? { registry, signing, attest } : null,
    examine: plan.matrix.measure ? await examiner() : null,
    logFolder: join(fleet.root, ".imgmatch", "logs"),
    unresolved: options.unresolved,
    now: () => (epoch === null ? new Date() : new Date(epoch * 1000)),
  });
}

/** Without `publishing` the images stay in the engine. */
export interface BuildPlanOptions extends Omit<BuildJobsOptions, "onBuilt"> {
  readonly builder: Builder;
  readonly lockFile: string;
  /** Commit of the sources, for a label; empty where there is none. */
  readonly revision: string;
  readonly now: () => Date;
  readonly unresolved?: UnresolvedBases | undefined;
}

/** Throws `WRITE_FAILED` or `LOCK_BUSY` for the lock, and bugs; a cell that fails is a result. */
export async function buildPlan(
  plan: Plan,
  fleet: FleetSources,
  options: BuildPlanOptions,
): Promise<BuildSummary> {
  const { matrix } = plan;
  const { builder, lockFile, revision, publishing, now } = options;
  const wanted = plan.cells.filter(({ action }) => action === "build");
  // A cell is ready if the digests of all its bases are known.
  const ready = new Map(wanted.filter(isReady).map((planned) => [planned.cell.id, planned]));
  const jobs = [...ready.values()].map((planned) =>
    jobOf(planned, { ...fleet, matrix, revision, push: publishing !== null }),
  );
  const built = await buildJobs(jobs, {
    ...options,
    onBuilt: async (finished) => {
      const created = now().toISOString();
      const images = finished.map(({ job: { cell }, built }): [string, LockedImage] => [
        cell,
        lockEntryOf(ready.get(cell) as ReadyCell, built, builder, created),
      ]);
      await updateLock(lockFile, (lock) => withImages(lock, matrix, Object.fromEntries(images)), {
        repository: matrix.repository,
      });
    },
  });
  const byCell = new Map(built.map((result) => [result.cell, result]));
  return {
    results: wanted.map((planned) => byCell.get(planned.cell.id) ?? unready(planned, options.unresolved)),
    kept: plan.cells.filter(({ action }) => action === "keep").length,
  };
}

function unready(planned: PlannedCell, reasons: UnresolvedBases | undefined): CellResult {
  const problems = [unreadyProblem([planned], reasons)] as const;
  return { status: "failed", cell: planned.cell.id, problems, log: null, durationMs: 0 };
}

function holderOf(engine: Engine): ImageHolder {
  return { ...engine, push: engine.isHere ? engine.push : null };
}

type OnEffect = (cell: string, effect: ImageEffect) => void;

/** Without `strict`, kept images were not opened: of them the lock knows whether they ignore the march. */
function unusedIn({ cells }: Plan, effects: ReadonlyMap<string, ImageEffect>): readonly Problem[] {
  const marchIgnored: ImageEffect = {
    code: null,
    layers: null,
    settings: null,
    ignoresMarch: true,
    uncompiled: [],
  };
  const made = cells.flatMap(({ cell, action, locked }) => {
    const known = effects.get(cell.id);
    if (known !== undefined) return [{ cell, effect: known }];
    const isPlain = action === "keep" && locked !== null && ignoresMarch(locked);
    return isPlain ? [{ cell, effect: marchIgnored }] : [];
  });
  return unusedAxes(made).map(({ problem }) => problem);
}

/** The contexts of the cells that will be built, each once. */
function builtContexts({ cells }: Plan): readonly BuildContext[] {
  const contexts = cells.flatMap(({ action, context }) =>
    action === "build" && context !== null
      ? [[context.digest, { ...context, entries: allEntries(context) }] as const]
      : [],
  );
  return [...new Map(contexts).values()];
}

/** A build is a compiler's work: more at one time than there are processors take no less time, and more memory. */
function buildsAtOnce(): number {
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
