/** Finds the choices of an answer that nobody asked for, so that none is made in silence. */

import { hardwareAxes } from "../lock/lock.ts";
import { answerOfSide, type BySide, needsGpus, noGpus, sidesOf, vendorsOf } from "../lock/requirement.ts";
import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import type { Lock } from "../lock/lock.ts";
import { countsAlways, type HostView, usableGpus } from "./host-view.ts";
import { nearestFirst } from "./nearest.ts";
import { type ResolveImageOptions, wantsCpu } from "./resolve-options.ts";
import type { Candidate, OrderStep } from "./order-steps.ts";
import { explainOrder } from "./rank.ts";
import { packageOf } from "./rules/nvidia/compat-package.ts";
import { noteAmd } from "./rules/amd/amd-driver.ts";
import { sideOf } from "./rules/gpu-side.ts";
import type { OpenAxis, Rejection, Resolution, UnusedGpus } from "./verdict.ts";

export interface RankedImages {
  /** The host that was asked about, read once for the whole answer. */
  readonly view: HostView;
  /** Images that fit, best first. */
  readonly ranked: readonly Candidate[];
  /** The others, by cell. */
  readonly rejected: readonly Rejection[];
  readonly order: readonly OrderStep[];
}

export type Unasked = Pick<Resolution, "unusedGpus" | "byPackage" | "openAxes" | "notes">;

/** The optional fields of a resolution: each is there only where it has something to say. */
export function findUnasked(lock: Lock, ranking: RankedImages, options: ResolveImageOptions = {}): Unasked {
  const [winner] = ranking.ranked;
  if (winner === undefined) return {};
  const openAxes = findOpenAxes(lock, winner, ranking, options);
  const byPackage = packageOf(winner.fit, winner.image.requires);
  const notes = notesOf(winner, ranking.view);
  const isPlain = sideOf(winner.image.requires) === "cpu" && !wantsCpu(options);
  const unused = isPlain ? unusedBy(lock, ranking.view) : [];
  const nearest = () => {
    const vendors = new Set(unused.map(({ vendor }) => vendor));
    return laterWithGpuCode(winner, ranking) ?? nearestOf(vendors, lock, ranking, options);
  };
  return {
    ...(unused.length === 0 ? {} : { unusedGpus: unusedGpus(unused, nearest) }),
    ...(byPackage === null ? {} : { byPackage }),
    ...(openAxes.length === 0 ? {} : { openAxes }),
    ...(notes.length === 0 ? {} : { notes }),
  };
}

const notes: BySide<readonly string[], [view: HostView]> = {
  nvidia: () => [],
  amd: (rocm, { amd, kernel }) => (amd === null ? [] : noteAmd(rocm, amd, kernel)),
};

function notesOf({ image: { requires } }: Candidate, view: HostView): readonly string[] {
  const { accelerator } = requires;
  return [
    ...(accelerator == null ? [] : [`not known whether it works: imgmatch has no rules for ${accelerator}`]),
    ...sidesOf(requires).flatMap((side) => answerOfSide(notes, side, view)),
  ];
}

function unusedGpus(
  unused: ReturnType<typeof unusedBy>,
  findNearest: () => UnusedGpus["nearest"],
): UnusedGpus {
  let nearest: UnusedGpus["nearest"] | undefined;
  return {
    gpus: unused.map(({ label }) => label),
    // It takes every reason of every image, so it waits for a reader.
    get nearest() {
      if (nearest === undefined) nearest = findNearest();
      return nearest;
    },
  };
}

/** The vendors that a fleet asks about. */
export function vendorsIn({ images }: Pick<Lock, "images">): readonly GpuVendor[] {
  const served = new Set(Object.values(images).flatMap(({ requires }) => vendorsOf(requires)));
  return gpuVendors.filter((vendor) => countsAlways[vendor] || served.has(vendor));
}

/** The GPUs under a driver that an image without GPU code leaves unused. A fleet does not miss the GPU of a processor for which it has no images. */
export function unusedBy(lock: Pick<Lock, "images">, view: HostView) {
  const asked = vendorsIn(lock);
  const isCard = ({ integrated }: { readonly integrated: boolean | null }) => integrated !== true;
  return usableGpus(
    view,
    gpuVendors.filter((vendor) => asked.includes(vendor) || view[vendor]?.gpus.some(isCard) === true),
  );
}

/** The vendors of the GPUs that an image without GPU code leaves unused. Where a driver drives none of them, those without a driver count. */
export function vendorsUnusedBy(lock: Pick<Lock, "images">, view: HostView): ReadonlySet<GpuVendor> {
  const unused = unusedBy(lock, view);
  if (unused.length > 0) return new Set(unused.map(({ vendor }) => vendor));
  return new Set(vendorsIn(lock).filter((vendor) => (view[vendor]?.gpus.length ?? 0) > 0));
}

/** The listed images with code for a GPU of these vendors. */
export function imagesOf<Named extends Pick<Rejection, "cell">>(
  vendors: ReadonlySet<GpuVendor>,
  { images }: Pick<Lock, "images">,
  listed: readonly Named[],
): readonly Named[] {
  return listed.filter(({ cell }) =>
    vendorsOf(images[cell]?.requires ?? noGpus).some((vendor) => vendors.has(vendor)),
  );
}

/** The best image with GPU code, if one fits and comes later in the order. */
function laterWithGpuCode(winner: Candidate, { ranked, order }: RankedImages): UnusedGpus["nearest"] {
  const later = ranked.find(({ image }) => needsGpus(image.requires));
  if (later === undefined) return null;
  const message = `fits, and comes later: ${explainOrder(order, winner, later)}`;
  return { cell: later.cell, code: null, message, fix: "ask for GPU code: --require-gpu" };
}

/** The image with code for GPUs of these vendors that misses the host by the least. */
function nearestOf(
  vendors: ReadonlySet<GpuVendor>,
  lock: Lock,
  { rejected, view }: RankedImages,
  options: ResolveImageOptions,
): UnusedGpus["nearest"] {
  const [nearest] = nearestFirst(lock, imagesOf(vendors, lock, rejected), view, options);
  const [misfit] = nearest?.misfits ?? [];
  if (nearest === undefined || misfit === undefined) return null;
  const { code, message } = misfit;
  const fix = [...new Set(nearest.misfits.map((one) => one.fix))].join("; and ");
  return { cell: nearest.cell, code, message, fix };
}

/** Free axes of which several values fit. A pin, and a preference for the value that won, are words of somebody. */
function findOpenAxes(
  lock: Lock,
  winner: Candidate,
  { ranked }: RankedImages,
  { pins = {}, prefer = lock.prefer ?? [] }: ResolveImageOptions,
): readonly OpenAxis[] {
  return Object.entries(winner.image.axes)
    .filter(([axis, value]) => {
      const isChosen = Object.hasOwn(pins, axis) || prefer.includes(`${axis}=${value}`);
      return !hardwareAxes.has(axis) && !isChosen;
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
