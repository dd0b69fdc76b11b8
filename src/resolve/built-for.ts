/**
 * For how much of a host's CPU an image was built: what the order counts. An image that fits by what it declares was built for
 * all of that. One that fits only because its files use less was built for the largest part of its march that a compiler knows by
 * a name, that has all its files use, and that the host has in full, so that measuring puts no image of another CPU before that of the host's own.
 */

import { guestHiddenFeatures } from "../hardware/cpu-guest-features.ts";
import { findMarch, marchNames, marchPlatform } from "../hardware/cpu-marches.ts";
import type { LockedImage } from "../lock/lock.ts";
import { neededRequirement, unusedFeatures } from "../lock/needed-requirement.ts";
import { normalizePlatform } from "./host-view.ts";

type Built = Pick<LockedImage, "platform" | "requires" | "measured">;

const known = new WeakMap<Built, readonly (readonly string[])[]>();

/**
 * Sets of features, the largest first and what the image needs last: on a host it counts as built for the first that the host has.
 * One set for an image that was not measured.
 */
export function featuresBuiltFor(image: Built): readonly (readonly string[])[] {
  const found = known.get(image);
  if (found !== undefined) return found;
  const sets = setsOf(image);
  known.set(image, sets);
  return sets;
}

/** How many features that is on a host with these. */
export function builtFor(image: Built, present: ReadonlySet<string>): number {
  const sets = featuresBuiltFor(image);
  const own = sets.find((features) => features.every((feature) => present.has(feature)));
  return (own ?? sets.at(-1) ?? []).length;
}

function setsOf(image: Built): readonly (readonly string[])[] {
  const declared = image.requires.cpu.features;
  const unused = unusedFeatures(image);
  if (unused.length === 0) return [declared];
  const needed = neededRequirement(image).cpu.features;
  const all = new Set(declared);
  const own = new Set(findMarch(image.requires.cpu.march)?.features ?? []);
  const compiled = needed.filter((feature) => own.has(feature));
  const marches = marchNames().flatMap((name) => {
    const march = findMarch(name);
    const within =
      march !== null &&
      marchPlatform(march) === normalizePlatform(image.platform) &&
      march.features.every((feature) => all.has(feature)) &&
      compiled.every((feature) => march.features.includes(feature));
    return within ? [[...new Set([...needed, ...march.features])]] : [];
  });
  const hidden = new Set(unused.filter((feature) => guestHiddenFeatures.has(feature)));
  const shown = declared.filter((feature) => !hidden.has(feature));
  const sets = [declared, shown, ...marches, needed].map((features) => [...features].sort());
  const distinct = new Map(sets.map((features) => [features.join(" "), features]));
  return [...distinct.values()].sort((a, b) => b.length - a.length);
}
