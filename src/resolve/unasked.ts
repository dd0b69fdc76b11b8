/** Choices of an answer that nobody asked for: never in silence. */

import { type GpuVendor, gpuVendors, hasGpuCode, noGpus, vendorsOf } from "../hardware/requirement.ts";
import type { HostFacts } from "../host/facts.ts";
import type { Lock } from "../lock/lock.ts";
import { usableGpus, viewHost } from "./host-view.ts";
import { nearestFirst } from "./nearest.ts";
import { type ResolveImageOptions, wantsCpu } from "./resolve-options.ts";
import type { Candidate, OrderStep } from "./order-steps.ts";
import { explainOrder } from "./rank.ts";
import { noteAmd } from "./rules/amd-driver.ts";
import { sideOf } from "./rules/gpu-side.ts";
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

export type Unasked = Pick<Resolution, "unusedGpus" | "byPackage" | "openAxes" | "notes">;

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
  const notes = winner === undefined ? [] : notesOf(winner, host);
  const driver = winner?.fit.tier === "forward" ? winner.image.requires.cuda?.driver : undefined;
  return {
    ...(unusedGpus === null ? {} : { unusedGpus }),
    ...(driver?.mode === "compat" ? { byPackage: driver.package } : {}),
    ...(openAxes.length === 0 ? {} : { openAxes }),
    ...(notes.length === 0 ? {} : { notes }),
  };
}

function notesOf({ image: { requires } }: Candidate, host: HostFacts): readonly string[] {
  const { accelerator, rocm } = requires;
  const { amd } = viewHost(host);
  return [
    ...(accelerator == null
      ? []
      : [`nobody judged it: ${accelerator} is no accelerator that imgmatch knows the rules of`]),
    ...(rocm == null || amd === null ? [] : noteAmd(rocm, amd)),
  ];
}

/** A host with GPUs under a driver, and an image without GPU code that nobody asked for. */
function findUnusedGpus(asked: Asked): UnusedGpus | null {
  const [winner] = asked.ranking.ranked;
  if (winner === undefined || sideOf(winner.image.requires) !== "cpu" || wantsCpu(asked.options)) return null;
  const usable = unusedBy(asked.lock, asked.host);
  if (usable.length === 0) return null;
  const gpus = usable.map(({ label }) => label);
  const vendors = new Set(usable.map(({ vendor }) => vendor));
  let nearest: UnusedGpus["nearest"] | undefined;
  return {
    gpus,
    // Every reason of every image is asked for it: it waits for somebody to read it.
    get nearest() {
      if (nearest === undefined) nearest = nearestWithGpuCode(asked, winner, vendors);
      return nearest;
    },
  };
}

/** The vendors that a fleet asks about: AMD only where it has images for AMD. */
export function vendorsIn({ images }: Pick<Lock, "images">): readonly GpuVendor[] {
  const isForAmd = Object.values(images).some(({ requires }) => vendorsOf(requires).includes("amd"));
  return isForAmd ? gpuVendors : ["nvidia"];
}

/** The GPU of a processor alone has code in few images: nobody misses it where a fleet has none for AMD. */
export function unusedBy(lock: Pick<Lock, "images">, host: HostFacts) {
  const view = viewHost(host);
  const isCard = view.amd?.gpus.some(({ integrated }) => integrated !== true) === true;
  return usableGpus(view, isCard ? gpuVendors : vendorsIn(lock));
}

/** Those with code for a GPU of these vendors. */
export function imagesOf<Named extends Pick<Rejection, "cell">>(
  vendors: ReadonlySet<GpuVendor>,
  { images }: Pick<Lock, "images">,
  listed: readonly Named[],
): readonly Named[] {
  return listed.filter(({ cell }) =>
    vendorsOf(images[cell]?.requires ?? noGpus).some((vendor) => vendors.has(vendor)),
  );
}

function nearestWithGpuCode(
  asked: Asked,
  winner: Candidate,
  vendors: ReadonlySet<GpuVendor>,
): UnusedGpus["nearest"] {
  const { lock, host, ranking, options } = asked;
  const later = ranking.ranked.find(({ image }) => hasGpuCode(image.requires));
  if (later !== undefined) {
    const message = `fits, and comes later: ${explainOrder(ranking.order, winner, later)}`;
    const fix = `ask for GPU code: --require-gpu`;
    return { cell: later.cell, code: null, message, fix };
  }
  const [nearest] = nearestFirst(lock, imagesOf(vendors, lock, ranking.rejected), host, options);
  const [misfit] = nearest?.misfits ?? [];
  if (nearest === undefined || misfit === undefined) return null;
  const { code, message } = misfit;
  const fix = [...new Set(nearest.misfits.map((each) => each.fix))].join("; and ");
  return { cell: nearest.cell, code, message, fix };
}

/** Axes that a host decides, and no tag; all others are free. */
export const hardwareAxes: ReadonlySet<string> = new Set(["accel", "cuda", "compute", "platform", "march"]);

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
