/** Choices of an answer that nobody asked for: never in silence. */

import { hasGpuCode, noGpus } from "../hardware/requirement.ts";
import type { HostFacts } from "../host/facts.ts";
import type { Lock } from "../lock/lock.ts";
import { viewHost } from "./host-view.ts";
import { nearestFirst } from "./nearest.ts";
import { type ResolveImageOptions, wantsCpu } from "./resolve-options.ts";
import type { Candidate, OrderStep } from "./order-steps.ts";
import { explainOrder } from "./rank.ts";
import type { OpenAxis, Rejection, Resolution, UnusedGpus } from "./verdict.ts";

export interface RankedImages {
  /** Images that fit, best first. */
  readonly ranked: readonly Candidate[];
  /** The others, by cell. */
  readonly rejected: readonly Rejection[];
  readonly order: readonly OrderStep[];
}

interface Asked {
  readonly lock: Lock;
  readonly host: HostFacts;
  readonly ranking: RankedImages;
  readonly options: ResolveImageOptions;
}

export type Unasked = Pick<Resolution, "unusedGpus" | "byPackage" | "openAxes">;

/** The optional fields of a resolution: each is there only where it has something to say. */
export function findUnasked(
  lock: Lock,
  host: HostFacts,
  ranking: RankedImages,
  options: ResolveImageOptions = {},
): Unasked {
  const unusedGpus = findUnusedGpus({ lock, host, ranking, options });
  const openAxes = findOpenAxes(lock, ranking, options);
  const [winner] = ranking.ranked;
  const driver = winner?.fit.tier === "forward" ? winner.image.requires.cuda?.driver : undefined;
  return {
    ...(unusedGpus === null ? {} : { unusedGpus }),
    ...(driver?.mode === "compat" ? { byPackage: driver.package } : {}),
    ...(openAxes.length === 0 ? {} : { openAxes }),
  };
}

/** A host with GPUs under a driver, and an image without GPU code that nobody asked for. */
function findUnusedGpus(asked: Asked): UnusedGpus | null {
  const [winner] = asked.ranking.ranked;
  const { nvidia } = viewHost(asked.host);
  if (winner === undefined || hasGpuCode(winner.image.requires)) return null;
  if (nvidia === null || nvidia.driverText === null || nvidia.gpus.length === 0) return null;
  if (wantsCpu(asked.options)) return null;
  const gpus = nvidia.gpus.map(({ label }) => label);
  let nearest: UnusedGpus["nearest"] | undefined;
  return {
    gpus,
    // Every reason of every image is asked for it: it waits for somebody to read it.
    get nearest() {
      if (nearest === undefined) nearest = nearestWithGpuCode(asked, winner);
      return nearest;
    },
  };
}

function nearestWithGpuCode(asked: Asked, winner: Candidate): UnusedGpus["nearest"] {
  const { lock, host, ranking, options } = asked;
  const later = ranking.ranked.find(({ image }) => hasGpuCode(image.requires));
  if (later !== undefined) {
    const message = `fits, and comes later: ${explainOrder(ranking.order, winner, later)}`;
    const fix = `ask for GPU code: --require-gpu`;
    return { cell: later.cell, code: null, message, fix };
  }
  const gpuImages = ranking.rejected.filter(({ cell }) => hasGpuCode(lock.images[cell]?.requires ?? noGpus));
  const [nearest] = nearestFirst(lock, gpuImages, host, options);
  const [misfit] = nearest?.misfits ?? [];
  if (nearest === undefined || misfit === undefined) return null;
  const { code, message } = misfit;
  const fix = [...new Set(nearest.misfits.map((each) => each.fix))].join("; and ");
  return { cell: nearest.cell, code, message, fix };
}

/** Axes that a host decides; all others are free. */
export const hardwareAxes: ReadonlySet<string> = new Set(["cuda", "compute", "platform", "march"]);

/** Free axes of which several values fit. A pin, and a preference for the value that won, are words of somebody. */
function findOpenAxes(
  lock: Lock,
  { ranked }: RankedImages,
  { pins = {}, prefer = lock.prefer ?? [] }: ResolveImageOptions,
): readonly OpenAxis[] {
  const [winner] = ranked;
  return Object.entries(winner?.image.axes ?? {})
    .filter(([axis, value]) => {
      const asked = Object.hasOwn(pins, axis) || prefer.includes(`${axis}=${value}`);
      return !hardwareAxes.has(axis) && !asked;
    })
    .map(([axis, value]) => ({
      axis,
      value,
      others: [...new Set(ranked.flatMap(({ image }) => image.axes[axis] ?? []))]
        .filter((other) => other !== value)
        .sort(),
    }))
    .filter(({ others }) => others.length > 0);
}
