/** Stages 4 to 6: a plan's images are built, get their names in a registry, and stand in the lock. */

import { cellBuilder } from "./build/cell-builder.ts";
import type { Engine } from "./build/engine.ts";
import type {
  BuildSummary,
  FleetBuilder,
  FleetBuildOptions,
  FleetSources,
  StackPreview,
} from "./build/fleet-builder.ts";
import type { Attester, Examiner, Publisher } from "./build/publisher.ts";
import { recordContext } from "./dockerfile/context.ts";
import type { Plan } from "./plan/planned-cell.ts";
import { type LayerCache, noCache } from "../inspect/image/layer-cache.ts";
import { imageExaminer } from "./audit/image-examiner.ts";
import { registryPublisher } from "./publish/publish-image.ts";
import type { BlobWriter, ReferrersReader, RegistryClient } from "../oci/registry/client.ts";
import {
  type BuildOrigin,
  type StatementSigner,
  unknownOrigin,
} from "../trust/provenance/write-provenance.ts";
import { attesterOf } from "./attest-build.ts";
import { declaredImages } from "./declared-image.ts";
import { requireAttestable } from "./require-attestable.ts";
import { type Signing, signedPublisher } from "./signed-publisher.ts";

interface Push {
  /** Needed for `push`, and to open what is built: without it nothing is measured. */
  readonly registry: (RegistryClient & Partial<BlobWriter & ReferrersReader>) | null;
  /** Without it the images stay in the engine. */
  readonly push: boolean;
}

export interface RunBuilderOptions
  extends Omit<FleetBuildOptions, "publisher" | "examiner" | "attester">,
    Push {
  /** What was opened before. Default: nothing is kept, and a base is opened for each image on it. */
  readonly layerCache?: LayerCache;
  /** What provenance says of the machine and the sources. Default: nothing is known. */
  readonly origin?: Omit<BuildOrigin, "revision"> | undefined;
  /** Signs the provenance that imgmatch writes itself. */
  readonly signer?: StatementSigner | null;
  /** Of images, before they have their names. Default: nobody signs them. */
  readonly signing?: Signing | null;
}

export interface BuildPlanOptions extends RunBuilderOptions {
  readonly engine: Pick<
    Engine,
    "isHere" | "keeper" | "attests" | "describe" | "build" | "push" | "save" | "layers"
  >;
}

/**
 * Builds what a plan says is to be built. A cell that fails, or whose base image is unknown, does not stop the others.
 * Throws `WRITE_FAILED` or `LOCK_BUSY` when the lock cannot be written, and what the engine throws before the first cell.
 */
export function buildPlan(
  plan: Plan,
  fleet: FleetSources,
  { engine, ...options }: BuildPlanOptions,
): Promise<BuildSummary> {
  return runBuilder(cellBuilder(engine), plan, fleet, options);
}

/** The same with what builds a whole fleet. */
export async function runBuilder(
  builder: FleetBuilder,
  plan: Plan,
  fleet: FleetSources,
  options: RunBuilderOptions,
): Promise<BuildSummary> {
  requireAttestable(plan.matrix, builder, fleet);
  await recordContext(fleet.root, fleet.context);
  const examiner = examinerOf(builder, plan, fleet, options);
  const attester = attesterFor(builder, plan, options);
  return builder.build(plan, fleet, { ...options, publisher: publisherOf(options), examiner, attester });
}

/** What {@link runBuilder} would change in the builder's own state. */
export async function previewBuilder(
  builder: FleetBuilder,
  plan: Plan,
  fleet: FleetSources,
  options: Push & Pick<FleetBuildOptions, "revision" | "concurrency">,
): Promise<readonly StackPreview[]> {
  return builder.preview(plan, fleet, { ...options, publisher: publisherOf(options) });
}

/** null where the matrix wants its images shut. */
function examinerOf(
  builder: Pick<FleetBuilder, "save" | "push" | "layers">,
  plan: Plan,
  fleet: FleetSources,
  { registry, layerCache = noCache }: RunBuilderOptions,
): Examiner | null {
  if (!plan.matrix.measure || registry === null) return null;
  return imageExaminer({
    declared: declaredImages(plan),
    registry,
    holder: builder,
    cache: layerCache,
  });
}

function attesterFor(
  { attests, describe }: FleetBuilder,
  plan: Plan,
  { push, registry, revision, origin, signer = null }: RunBuilderOptions,
): Attester | undefined {
  if (!push || registry === null || plan.matrix.attest === null) return undefined;
  const { writeBlob, readReferrers } = registry;
  if (writeBlob === undefined || readReferrers === undefined)
    throw new TypeError("a registry's client that attaches is needed to attest");
  const client = { ...registry, writeBlob, readReferrers };
  const known = { ...unknownOrigin, ...origin, revision };
  return attesterOf(plan, { registry: client, attests, engine: describe, origin: known, signer });
}

function publisherOf({
  push,
  registry,
  signing = null,
}: Push & Pick<RunBuilderOptions, "signing">): Publisher | null {
  if (!push) return null;
  if (registry === null) throw new TypeError("a push needs a registry");
  const publisher = registryPublisher(registry);
  return signing === null ? publisher : signedPublisher(publisher, signing);
}
