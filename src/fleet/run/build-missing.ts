/** Gathers what the cells that the lock does not have are built with: the engine, what opens, attests and signs images. */

import { availableParallelism } from "node:os";
import { join } from "node:path";
import { readRevision } from "../../io/git.ts";
import type { World } from "../../io/world.ts";
import type { FullRegistryClient } from "../../oci/registry/create-client.ts";
import { version } from "../../version.ts";
import type { BuildPace } from "../build-choice.ts";
import { declaredImages } from "../audit/declared-image.ts";
import { type Examining, imageExaminer } from "../audit/image-examiner.ts";
import { allEntries } from "../context/cell-context.ts";
import type { BuildContext } from "../context/context.ts";
import { recordContext } from "../context/context-record.ts";
import type { BuildSummary } from "../engines/built-cell.ts";
import { holderOf } from "../engines/engine.ts";
import { type EngineChoice, engineFor, localEngineOf } from "../engines/engine-choice.ts";
import type { UnresolvedBases } from "../engines/jobs.ts";
import { sourceDateEpoch } from "../engines/source-date-epoch.ts";
import type { Fleet } from "../open/open-fleet.ts";
import { publishedOnLocal } from "../plan/local-bases.ts";
import type { Plan } from "../plan/planned-cell.ts";
import { imageAttester, requireAttestable } from "../publish/attest-image.ts";
import { readOrigin } from "../publish/build-origin.ts";
import type { FleetSigner, Sealing } from "../publish/seal.ts";
import type { FleetBuildEvent } from "./build-events.ts";
import { buildPlan } from "./build-plan.ts";
import type { OnEffect } from "./findings.ts";

/** What a build is handed: what opens images, what signs and attests. */
export interface BuildPorts extends Examining, Sealing {}

export interface BuildMeans {
  readonly engine: EngineChoice;
  /** For what is built and pushed. */
  readonly registry: FullRegistryClient;
  readonly lockFile: string;
  readonly pace: BuildPace;
  readonly push: boolean;
  /** null where nobody signs. */
  readonly signing: FleetSigner | null;
  readonly unresolved?: UnresolvedBases;
}

export async function buildMissing(
  plan: Plan,
  fleet: Fleet,
  { engine: choice, registry, pace, push, signing, ...options }: BuildMeans,
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
    ...{ engine, revision, onEvent, lockFile: options.lockFile, drain: signal },
    concurrency: pace.concurrency ?? buildsAtOnce(),
    maxFailures: pace.maxFailures,
    cellTimeoutMs: pace.cellTimeout === undefined ? undefined : pace.cellTimeout * 60_000,
    builder: { described, localEngine: localEngineOf(choice) },
    publishing: push ? { registry, signing, attest } : null,
    examine: plan.matrix.measure ? await examiner() : null,
    logFolder: join(fleet.root, ".imgmatch", "logs"),
    unresolved: options.unresolved,
    now: () => (epoch === null ? new Date() : new Date(epoch * 1000)),
  });
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
