/**
 * Chooses the images of a fleet that container runtimes see in its index. A runtime knows a platform, at best the level of its CPU, and no
 * GPU. So the index shows a runtime one image for each platform, and one for each level of x86-64. The runtime may take any image shown, and
 * containerd from 2.1 on fetches every shown image of the platform. The other images are for `resolve`.
 */

import { needsGpus } from "../lock/requirement.ts";
import { levelNeeded } from "../hardware/cpu-levels.ts";
import { findMarch, marchesRunning } from "../hardware/cpu-marches.ts";
import { compareVersions, parseVersion } from "../hardware/driver-version.ts";
import { alternativesOf } from "../lock/alternatives.ts";
import { neededRequirement } from "../lock/needed-requirement.ts";
import { compareText, groupBy, remember, sortedEntries } from "../io/collections.ts";
import type { ShownImage } from "../lock/fleet-index.ts";
import type { FleetIndex, IndexedImage } from "../lock/fleet-index.ts";
import { builtFor } from "./built-for.ts";
import { normalizePlatform } from "../lock/lock.ts";
import type { Candidate, OrderStep } from "./order-steps.ts";
import { orderBy, sortCandidates } from "./rank.ts";
import { hardwareAxes } from "../lock/lock.ts";

/** Levels that runtimes ask for by `variant`, lowest first. Not v1: podman 4.3 takes no image of that variant. */
const variants = { "x86-64-v2": "v2", "x86-64-v3": "v3", "x86-64-v4": "v4" } as const;

type ShownFleet = Pick<FleetIndex, "entries" | "prefer" | "plainPull">;

/**
 * In the order of their entries: the platform with the most images first, and of each platform the plain image first, since a runtime without
 * levels takes the first match.
 *
 * - Plain is the least demanding image for the CPU alone: the image for the most CPUs of the tables, then the image with the fewest features,
 *   then the image for the oldest kernel. Among equals it is the choice of `resolve`. If not all CPUs run it, runtimes see no image of the
 *   platform, unless the matrix allows it.
 * - A level of x86-64 is shown if `resolve`, on a CPU of the level without a GPU and with the plain image's free axes, takes an image whose
 *   features are exactly the level's. A better CPU never means another Python.
 */
export function shownImages({ entries, prefer, plainPull }: ShownFleet): readonly ShownImage[] {
  const named: readonly Named[] = [...entries].flatMap(([cell, entry]) =>
    alternativesOf(entry.image).map((image) => ({ cell, image })),
  );
  return [...groupBy(named, ({ image }) => normalizePlatform(image.platform))]
    .sort(([one, a], [other, b]) => cellsOf(b) - cellsOf(a) || compareText(one, other))
    .flatMap(([platform, images]) => shownOf(platform, images, orderBy(prefer), plainPull === "least"));
}

/**
 * The same for a channel or a variant: the only image of a platform is what a plain pull gets, since there is nothing to choose.
 */
export function plainImages(index: ShownFleet): readonly ShownImage[] {
  const cells = groupBy(index.entries, ([, { image }]) => normalizePlatform(image.platform));
  return shownImages(index).flatMap((shown): ShownImage[] => {
    const { platform } = shown;
    const [first, second] = cells.get(platform) ?? [];
    // One image needs no choice by the level of the CPU.
    return first !== undefined && second === undefined ? [{ platform, cell: first[0] }] : [shown];
  });
}

interface Named {
  readonly cell: string;
  readonly image: IndexedImage;
}

/** An image that carries several of a kind is there once for each. */
function cellsOf(images: readonly Named[]): number {
  return new Set(images.map(({ cell }) => cell)).size;
}

function shownOf(
  platform: string,
  all: readonly Named[],
  order: readonly OrderStep[],
  allowsAny: boolean,
): readonly ShownImage[] {
  // No facts tell of a host of such a variant.
  if (/\/(amd64|arm64)\/./.test(platform)) return [];
  // Nobody judges the accelerator of some: no runtime is to take such an image by itself.
  const images = all.filter(
    ({ image: { requires } }) => !needsGpus(requires) && requires.accelerator == null,
  );
  const plain = leastDemanding(images, platform, order);
  if (plain === null) return [{ platform, cell: null }];
  // Neither its levels: tools that ask for no variant take the first image of the architecture, also v4 on a CPU of v2.
  if (!allowsAny && !startsEverywhere(plain.image, platform))
    return [{ platform, cell: null, withheld: plain.cell }];
  const shown = [{ platform, cell: plain.cell }];
  if (platform !== "linux/amd64") return shown;
  const siblings = images.filter(({ image }) => freeAxes(image) === freeAxes(plain.image));
  for (const [level, variant] of Object.entries(variants)) {
    const present = new Set(findMarch(level)?.features);
    const running = siblings.filter(({ image }) => featuresOf(image).every((each) => present.has(each)));
    const taken = firstOf(running, () => present, order);
    if (taken === null || taken.cell === plain.cell) continue;
    if (levelNeeded("amd64", featuresOf(taken.image)) !== level) continue;
    shown.push({ platform: `${platform}/${variant}`, cell: taken.cell });
  }
  return shown;
}

function startsEverywhere(image: IndexedImage, platform: string): boolean {
  const [, architecture = ""] = platform.split("/");
  return levelNeeded(architecture, featuresOf(image)) === levelNeeded(architecture, []);
}

function leastDemanding(
  images: readonly Named[],
  platform: string,
  order: readonly OrderStep[],
): Named | null {
  const architecture = platform.split("/")[1] ?? "";
  const runningBy = new Map<string, number>();
  const running = (features: readonly string[]): number =>
    remember(runningBy, features.join(), () => marchesRunning(architecture, features).length);
  const demandOf = ({ image }: Named) => {
    const { cpu, kernel } = neededRequirement(image);
    const oldest = parseVersion(kernel ?? "0") ?? [0];
    return [-running(cpu.features), cpu.features.length, ...oldest];
  };
  const demands = new Map(images.map((named) => [named, demandOf(named)]));
  const [least = []] = [...demands.values()].sort(compareVersions);
  const equals = images.filter((named) => compareVersions(demands.get(named) ?? [], least) === 0);
  return firstOf(equals, (image) => new Set(featuresOf(image)), order);
}

/** The choice of `resolve` on a CPU with these features. */
function firstOf(
  images: readonly Named[],
  present: (image: IndexedImage) => ReadonlySet<string>,
  order: readonly OrderStep[],
): Named | null {
  const unknown = { bases: [], builder: "", created: null, size: null };
  const candidates = images.map((named): Candidate & { readonly named: Named } => {
    const { cell, image } = named;
    const built = builtFor(image, present(image));
    return {
      cell,
      image: { ...image, ...unknown },
      fit: { ok: true, tier: "native", code: [], builtFor: built },
      named,
    };
  });
  return sortCandidates(order, candidates)[0]?.named ?? null;
}

function featuresOf(image: IndexedImage): readonly string[] {
  return neededRequirement(image).cpu.features;
}

function freeAxes({ axes }: IndexedImage): string {
  return JSON.stringify(sortedEntries(axes).filter(([axis]) => !hardwareAxes.has(axis)));
}
