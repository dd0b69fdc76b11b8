/** The difference between the declared CPU features of an image and those that its files use, in words. */

import { findMarch } from "../hardware/cpu-marches.ts";
import type { HostFacts } from "../host/facts.ts";
import type { LockedImage } from "../lock/lock.ts";
import { ignoresMarch, neededRequirement, unusedFeatures } from "../lock/needed-requirement.ts";
import { compareText } from "../io/collections.ts";
import { listSome } from "./misfit.ts";
import type { CodeFit } from "./verdict.ts";

/**
 * `declared sapphirerapids, its binaries use avx, avx2, fma`, of an image that others built `estimated by its files: avx, avx2,
 * fma`; null where all that is declared is needed.
 */
export function describeMeasured(
  image: Pick<LockedImage, "requires" | "measured" | "adopted">,
): string | null {
  const isEstimated = image.adopted?.cpu === "estimated";
  const isIgnored = ignoresMarch(image);
  if (!isEstimated && !isIgnored && unusedFeatures(image).length === 0) return null;
  const { march, features } = neededRequirement(image).cpu;
  const everywhere = new Set(["x86-64", "armv8-a"].flatMap((name) => findMarch(name)?.features ?? []));
  const used = features.filter((feature) => !everywhere.has(feature)).sort(compareText);
  const named = used.length === 0 ? "nothing beyond the baseline" : listSome(used);
  if (isEstimated) return `estimated by its files: ${named}`;
  const own = isIgnored ? "its own files use nothing of it, " : "";
  return `declared ${march}, ${own}its binaries use ${named}`;
}

/** Names the GPU of each piece of code. If some GPUs are hidden, the driver's number is not the place in the list. */
export function describeCode(
  code: readonly Pick<CodeFit, "target">[],
  { nvidia }: Pick<HostFacts, "nvidia">,
): string[] {
  return code.map(({ target }, place) => `GPU ${nvidia?.gpus[place]?.index ?? place} runs ${target}`);
}
