/**
 * Counts the CPU features for which an image was built: the order compares them. An image that fits by its declared march counts with the
 * whole march. An image that fits only because its files use less counts with a smaller march: the largest part of the march that the host
 * has in full and that covers all features in use. So measuring never puts an image of another CPU before that of the host's own.
 */

import { guestHiddenFeatures } from "../hardware/cpu-features.ts";
import { findMarch, type March, marchesOn } from "../hardware/cpu-marches.ts";
import type { LockedImage } from "../lock/lock.ts";
import { neededRequirement, unusedFeatures } from "../lock/needed-requirement.ts";
import { compareText, remember } from "../io/collections.ts";
import { normalizePlatform } from "../lock/lock.ts";
import type { CpuShare } from "./verdict.ts";

type Built = Pick<LockedImage, "platform" | "requires" | "measured">;

/** A part of a march, with its share of a CPU. */
export interface BuiltFor {
  /** Linux names, sorted. */
  readonly features: readonly string[];
  readonly share: CpuShare;
}

const known = new WeakMap<Built, readonly BuiltFor[]>();

/**
 * Sets of features, the one that counts most first. On a host an image counts as built for the first set that the host has. An image that was
 * not measured has one set.
 */
export function featuresBuiltFor(image: Built): readonly BuiltFor[] {
  return remember(known, image, () => setsOf(image));
}

/** The share of the CPU that the image counts with on a host with these features. */
export function builtFor(image: Built, present: ReadonlySet<string>): CpuShare {
  const sets = featuresBuiltFor(image);
  const onHost = sets.find(({ features }) => features.every((feature) => present.has(feature)));
  return (onHost ?? sets.at(-1))?.share ?? { features: 0, emitted: 0 };
}

function setsOf(image: Built): readonly BuiltFor[] {
  const declared = image.requires.cpu.features;
  const unused = unusedFeatures(image);
  const march = findMarch(image.requires.cpu.march);
  if (unused.length === 0) return [partOf(declared, march)];
  const needed = neededRequirement(image).cpu.features;
  const all = new Set(declared);
  const own = new Set(march?.features ?? []);
  const compiled = needed.filter((feature) => own.has(feature));
  const marches = marchesOn(normalizePlatform(image.platform))
    .filter(({ features }) => features.every((feature) => all.has(feature)))
    .filter(({ features }) => compiled.every((feature) => features.includes(feature)))
    .map((other) => partOf([...new Set([...needed, ...other.features])], other));
  const hidden = new Set(unused.filter((feature) => guestHiddenFeatures.has(feature)));
  const shown = declared.filter((feature) => !hidden.has(feature));
  const sets = [
    partOf(declared, march),
    partOf(shown, march),
    // Of marches with equal features the one counts whose compiler emits the most.
    ...marches.sort(byCount),
    partOf(needed, march),
  ];
  const distinct = new Map(sets.toReversed().map((set) => [set.features.join(" "), set]));
  return [...distinct.values()].sort(byCount);
}

function byCount(a: BuiltFor, b: BuiltFor): number {
  return b.share.emitted - a.share.emitted || b.share.features - a.share.features;
}

/** A compiler may emit anything for a march that the tables do not know. */
function partOf(features: readonly string[], march: March | null): BuiltFor {
  const emitted = new Set(march?.required ?? features);
  return {
    features: [...features].sort(compareText),
    share: {
      features: features.length,
      emitted: features.filter((feature) => emitted.has(feature)).length,
    },
  };
}
