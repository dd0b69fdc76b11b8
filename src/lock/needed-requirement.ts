/** The requirement that every answer goes by: the declared one without the features that the files do not use. */

import { x86Baseline } from "../hardware/cpu-features.ts";
import { type Measured, measuredRules, type Requirement } from "./requirement.ts";
import { compareText, remember } from "../io/collections.ts";
import type { LockedImage } from "./lock.ts";

type Declared = Pick<LockedImage, "requires" | "measured">;

const needed = new WeakMap<Declared, Requirement>();

/**
 * Only declared CPU features leave, and never those of every CPU of the architecture. Declared GPU targets stay, and so does the declared
 * driver floor: the toolkit's own libraries need it, whatever the code was compiled with.
 */
export function neededRequirement(image: Declared): Requirement {
  return remember(needed, image, () => {
    const unused = new Set(unusedFeatures(image));
    if (unused.size === 0) return image.requires;
    const { cpu } = image.requires;
    const features = cpu.features.filter((feature) => !unused.has(feature)).sort(compareText);
    return { ...image.requires, cpu: { ...cpu, features } };
  });
}

/**
 * Declared features that a host need not have, sorted. Empty for an image that was not opened, or by other rules, and for an image with
 * several CPU variants: the files together say nothing of one variant.
 */
export function unusedFeatures({ requires, measured }: Declared): readonly string[] {
  if (requires.cpu.or !== undefined) return [];
  if (measured?.rules !== measuredRules || measured.cpu.unused.length === 0) return [];
  const declared = new Set(requires.cpu.features);
  return [...new Set(measured.cpu.unused)]
    .filter((feature) => declared.has(feature) && !x86Baseline.has(feature))
    .sort(compareText);
}

/** Its own programs use nothing of its march. false if nobody knows. */
export function ignoresMarch({ measured }: Pick<Declared, "measured">): boolean {
  return measured?.rules === measuredRules && measured.cpu.own === "baseline";
}

/** The measurement that restores the declared requirement from the smaller one. */
export function measuredOf(image: Declared): Measured | undefined {
  const { measured } = image;
  return measured?.rules === measuredRules
    ? { ...measured, cpu: { ...measured.cpu, unused: unusedFeatures(image) } }
    : undefined;
}

/** The declared requirement, from {@link neededRequirement} and {@link measuredOf}. */
export function declaredRequirement(requires: Requirement, measured: Measured): Requirement {
  if (measured.rules !== measuredRules || measured.cpu.unused.length === 0) return requires;
  const features = [...new Set([...requires.cpu.features, ...measured.cpu.unused])].sort(compareText);
  return { ...requires, cpu: { ...requires.cpu, features } };
}
