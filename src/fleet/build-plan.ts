/** Stages 4 to 6: a plan's images are built, get their names in a registry, and stand in the lock. */

import { cellBuilder } from "../build/cell-builder.ts";
import type { Engine } from "../build/engine.ts";
import type {
  BuildSummary,
  FleetBuilder,
  FleetBuildOptions,
  FleetSources,
  StackPreview,
} from "../build/fleet-builder.ts";
import type { Examiner } from "../build/examiner.ts";
import type { Publisher } from "../build/publisher.ts";
import { recordContext } from "../io/context-record.ts";
import type { Plan } from "../plan/planned-cell.ts";
import { type LayerCache, noCache } from "../inspect/image/layer-cache.ts";
import { imageExaminer } from "../inspect/audit/image-examiner.ts";
import { registryPublisher } from "../publish/registry-publisher.ts";
import type { RegistryClient } from "../registry/client.ts";
import { declaredImages } from "./declared-image.ts";

interface Push {
  /** Needed for `push`, and to open what is built: without it nothing is measured. */
  readonly registry: RegistryClient | null;
  /** Without it the images stay in the engine. */
  readonly push: boolean;
}

export interface RunBuilderOptions extends Omit<FleetBuildOptions, "publisher" | "examiner">, Push {
  /** What was opened before. Default: nothing is kept, and a base is opened for each image on it. */
  readonly layerCache?: LayerCache;
}

export interface BuildPlanOptions extends RunBuilderOptions {
  readonly engine: Pick<Engine, "isHere" | "keeper" | "describe" | "build" | "push" | "save" | "layers">;
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
  await recordContext(fleet.root, fleet.context);
  const examiner = examinerOf(builder, plan, fleet, options);
  return builder.build(plan, fleet, { ...options, publisher: publisherOf(options), examiner });
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
    declared: declaredImages(plan, fleet),
    registry,
    holder: builder,
    cache: layerCache,
  });
}

function publisherOf({ push, registry }: Push): Publisher | null {
  if (!push) return null;
  if (registry === null) throw new TypeError("a push needs a registry");
  return registryPublisher(registry);
}
