/** Finds the images that miss a host by the least, for a person who gets no image or the wrong kind. */

import { gpuVendors } from "../hardware/gpu-vendors.ts";
import { needsGpus, vendorsOf } from "../lock/requirement.ts";
import { ImgmatchError } from "../errors.ts";
import type { Lock, LockedImage } from "../lock/lock.ts";
import { remember } from "../io/collections.ts";
import type { HostView } from "./host-view.ts";
import { askWithoutCache, type AskRule, findMisfitsBy, withWorkingCures } from "./check-fit.ts";
import { compareKeys, type SortKey } from "./order-steps.ts";
import { type FitOptions, fitOptions, type ResolveImageOptions } from "./resolve-options.ts";
import { effortOf, isOfHost, type Misfit, type Rejection } from "./verdict.ts";

export interface Miss {
  readonly cell: string;
  readonly image: LockedImage;
  /** In the order of the rules; never empty. */
  readonly misfits: readonly Misfit[];
}

/**
 * Sorts rejected images, nearest first: by {@link effortOf} their misfits, then by tag. For equal effort, GPU code for the host's GPUs goes
 * before CPU code. Images for the GPUs of an absent vendor follow all others, and images of the excluded kind come last.
 */
export function nearestFirst(
  lock: Lock,
  rejected: readonly Pick<Rejection, "cell">[],
  view: HostView,
  options: ResolveImageOptions,
): readonly Miss[] {
  const judge = fitOptions(lock, options);
  return missesOf(lock, rejected, view, judge, askWithoutCache)
    .sort((a, b) => compareKeys(a.key, b.key))
    .map((miss) => withCures(miss, view, judge));
}

/** The first of {@link nearestFirst}; null if nothing was rejected. `ask` may keep the answers of rules. */
export function nearestBy(
  ask: AskRule,
  lock: Lock,
  rejected: readonly Pick<Rejection, "cell">[],
  view: HostView,
  judge: FitOptions,
): Miss | null {
  const [first, ...others] = missesOf(lock, rejected, view, judge, ask);
  if (first === undefined) return null;
  const least = others.reduce((best, other) => (compareKeys(other.key, best.key) < 0 ? other : best), first);
  return withCures(least, view, judge);
}

function missesOf(
  lock: Lock,
  rejected: readonly Pick<Rejection, "cell">[],
  view: HostView,
  judge: FitOptions,
  ask: AskRule,
): (Miss & { readonly key: SortKey })[] {
  return rejected.flatMap(({ cell }) => {
    const image = lock.images[cell];
    if (image === undefined) return [];
    const misfits = findMisfitsBy(ask, image, view, judge);
    return misfits.length === 0
      ? []
      : [{ cell, image, misfits, key: distanceOf(image, misfits, view, judge) }];
  });
}

function withCures({ cell, image, misfits }: Miss, view: HostView, judge: FitOptions): Miss {
  return { cell, image, misfits: misfits.map((misfit) => withWorkingCures(misfit, image, view, judge)) };
}

function distanceOf(
  image: LockedImage,
  misfits: readonly Misfit[],
  view: HostView,
  options: FitOptions,
): SortKey {
  const gpu = needsGpus(image.requires);
  const unwanted = (options.cpuOnly === true && gpu) || (options.requireGpu === true && !gpu);
  const present = gpuVendors.filter((vendor) => (view[vendor]?.gpus.length ?? 0) > 0);
  const isOwn = vendorsOf(image.requires).some((vendor) => present.includes(vendor));
  const isForeign = gpu && !isOwn && present.length > 0;
  const isForGpu = isOwn && misfits.every(({ code }) => code !== "NO_GPU_CODE");
  const [effort, amount] = effortOf(misfits);
  return [unwanted ? 1 : 0, isForeign ? 1 : 0, effort, isForGpu ? 0 : 1, isOwn ? 0 : 1, amount, image.tag];
}

/**
 * `NO_MATCH` with one line for each reason, the nearest image first. If an image was rejected for the state of the host or an unknown fact,
 * `HOST_BROKEN` or `FACT_UNKNOWN`.
 *
 * @param explain the fix of each image was printed already
 */
export function noMatch(
  lock: Lock,
  { rejected, view }: { readonly rejected: readonly Pick<Rejection, "cell">[]; readonly view: HostView },
  options: ResolveImageOptions,
  { explain = false }: { readonly explain?: boolean } = {},
): ImgmatchError {
  const misses = nearestFirst(lock, rejected, view, options);
  const broken = misses.flatMap(({ misfits }) => misfits.slice(0, 1)).find(({ code }) => isOfHost(code));
  if (broken !== undefined && isOfHost(broken.code)) {
    return new ImgmatchError({ code: broken.code, message: broken.message, fix: broken.fix });
  }
  const counts = new Map<string, { count: number; readonly miss: Miss; readonly message: string }>();
  for (const miss of misses) {
    const [first] = miss.misfits;
    if (first === undefined) continue;
    remember(counts, first.code, () => ({ count: 0, miss, message: first.message })).count++;
  }
  const lines = [...counts].map(([code, { count, miss, message }]) =>
    count === 1
      ? `${miss.cell}: ${code}: ${message}`
      : `${miss.cell} and ${count - 1} more: ${code}: ${message}`,
  );
  // The fix of one reason helps only if it is the only reason.
  const [nearest] = misses;
  const only = nearest?.misfits.length === 1 ? nearest.misfits[0] : undefined;
  return new ImgmatchError({
    code: "NO_MATCH",
    message: "no image of the lock fits this host, nearest first",
    details: lines.map((line) => `  ${line}`),
    fix:
      only?.fix ??
      (explain
        ? "see the smallest change for each image above"
        : "run it again with --explain for the smallest change"),
  });
}
