/** The distance of an image from native code on a host: features that a compiler would use there, and the image does not. */

import type { HostFacts } from "../facts/facts.ts";
import type { LockedImage } from "../lock/lock.ts";
import { ignoresMarch, neededRequirement } from "../lock/needed-requirement.ts";
import { nativeMarch } from "../host/native-march.ts";
import { featuresBuiltFor } from "../resolve/built-for.ts";
import { compareCodeFits } from "../resolve/rules/nvidia/gpu-code.ts";
import type { CodeFit, Fit, Tier } from "../resolve/verdict.ts";

export interface CpuDistance {
  /** The march of the image. */
  readonly march: string;
  /** The march that a compiler would name for the host. */
  readonly nativeMarch: string;
  /** Features that compilers use for `nativeMarch`, and the image was not built for; sorted. */
  readonly unused: readonly string[];
  /** Features that the facts leave open could make `nativeMarch` a higher one, and the distance longer. */
  readonly isUndecided: boolean;
}

/** The distance of images from a host's CPU; null if its native march is unknown. */
export function cpuDistanceFrom(
  host: Pick<HostFacts, "platform" | "cpu">,
): (image: LockedImage) => CpuDistance | null {
  const native = nativeMarch(host);
  if (native === null) return () => null;
  const { march, isUndecided } = native;
  const present = new Set(host.cpu.features);
  // `features` leaves out those that no computing code needs.
  const computing = new Set(march.features);
  const wanted = march.required.filter((feature) => computing.has(feature)).sort();
  return (image) => {
    const sets = featuresBuiltFor(image);
    const built = sets.find((set) => set.features.every((feature) => present.has(feature))) ?? sets.at(-1);
    const used = new Set(ignoresMarch(image) ? neededRequirement(image).cpu.features : built?.features);
    const unused = wanted.filter((feature) => !used.has(feature));
    return { march: image.requires.cpu.march, nativeMarch: march.name, unused, isUndecided };
  };
}

/** The worst code of all visible GPUs; null for an image without GPU code. */
export function worstCode({ code }: Fit): CodeFit | null {
  return [...code].sort(compareCodeFits).at(-1) ?? null;
}

/**
 * A native image has machine code for exactly these GPUs and uses every CPU feature of compilers, and the driver knows the whole toolkit.
 * null if unknown.
 */
export function isNative({
  cpu,
  gpu,
  tier,
}: {
  readonly cpu: CpuDistance | null;
  readonly gpu: CodeFit | null;
  readonly tier: Tier;
}): boolean | null {
  if (tier !== "native") return false;
  if (gpu !== null && (gpu.kind === "ptx" || gpu.kind === "spirv" || gpu.distance > 0)) return false;
  if (cpu === null) return null;
  if (cpu.unused.length > 0) return false;
  return cpu.isUndecided ? null : true;
}
