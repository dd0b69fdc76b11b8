/** An image's requirement: the declared one without the features that its files do not use. Every answer goes by it. */

import { x86Baseline } from "../hardware/cpu-features.ts";
import { type Measured, measuredRules, type Requirement } from "../hardware/requirement.ts";
import { compareText } from "../io/collections.ts";
import type { LockedImage } from "./lock.ts";

type Declared = Pick<LockedImage, "requires" | "measured">;

const needed = new WeakMap<Declared, Requirement>();

/**
 * Only features leave, and only declared ones: of the GPU side the declared targets hold, and the declared driver floor, which
 * the toolkit's own libraries ask for whatever the code was compiled with. Features of every CPU of the architecture stay.
 */
export function neededRequirement(image: Declared): Requirement {
  const known = needed.get(image);
  if (known !== undefined) return known;
  const unused = unusedFeatures(image);
  if (unused.length === 0) return image.requires;
  const { cpu } = image.requires;
  const gone = new Set(unused);
  const requires = {
    ...image.requires,
    cpu: { ...cpu, features: cpu.features.filter((feature) => !gone.has(feature)).sort(compareText) },
  };
  needed.set(image, requires);
  return requires;
}

/**
 * Declared features that need not be there, sorted. Empty for an image that nobody opened, or by other rules, and for one with several CPU
 * variants: its files together say nothing of one of them.
 */
export function unusedFeatures({ requires, measured }: Declared): readonly string[] {
  if (requires.cpu.or !== undefined) return [];
  if (measured?.rules !== measuredRules || measured.cpu.unused.length === 0) return [];
  const declared = new Set(requires.cpu.features);
  return [...new Set(measured.cpu.unused)]
    .filter((feature) => declared.has(feature) && !x86Baseline.has(feature))
    .sort(compareText);
}

/** Whether its own programs are known to use nothing of its march; false where nobody knows. */
export function ignoresMarch({ measured }: Pick<Declared, "measured">): boolean {
  return measured?.rules === measuredRules && measured.cpu.own === "baseline";
}

/** The same for one who gets only the smaller requirement: what has to be added to it again to know what was declared. */
export function measuredOf(image: Declared): Measured | undefined {
  const { measured } = image;
  return measured?.rules === measuredRules
    ? { ...measured, cpu: { ...measured.cpu, unused: unusedFeatures(image) } }
    : undefined;
}

/** The requirement as it was declared, from what {@link neededRequirement} and {@link measuredOf} say. */
export function declaredRequirement(requires: Requirement, measured: Measured): Requirement {
  if (measured.rules !== measuredRules || measured.cpu.unused.length === 0) return requires;
  const features = [...new Set([...requires.cpu.features, ...measured.cpu.unused])].sort(compareText);
  return { ...requires, cpu: { ...requires.cpu, features } };
}
