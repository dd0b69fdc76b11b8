/** How far an image is from native code on a host: what a compiler would use there and the image does not. */

import type { HostFacts } from "../host/facts.ts";
import type { LockedImage } from "../lock/lock.ts";
import { featuresBuiltFor } from "../resolve/built-for.ts";
import { compareCodeFits } from "../resolve/rules/gpu-code.ts";
import type { CodeFit, Fit, Tier } from "../resolve/verdict.ts";
import { nativeMarch } from "./native-march.ts";

export interface CpuDistance {
  /** The image's. */
  readonly march: string;
  /** The march of the host's own maker, or a generic one, of which the host has all, and the compiler uses most. */
  readonly nativeMarch: string;
  /** Features that compilers use for `nativeMarch` by themselves, and that the image was not built for; sorted. */
  readonly unused: readonly string[];
  /** Whether the facts leave features open with which the host's own march could be a higher one, and the distance longer. */
  readonly open: boolean;
}

/** How far images are from a host's CPU; null where the tables or the facts do not tell what native code would be. */
export function cpuDistanceFrom(
  host: Pick<HostFacts, "platform" | "cpu">,
): (image: LockedImage) => CpuDistance | null {
  const native = nativeMarch(host);
  if (native === null) return () => null;
  const { march, open } = native;
  const present = new Set(host.cpu.features);
  // Less what no computing code needs.
  const asked = new Set(march.features);
  const wanted = march.required.filter((feature) => asked.has(feature)).sort();
  return (image) => {
    const sets = featuresBuiltFor(image);
    const own = sets.find((set) => set.features.every((feature) => present.has(feature))) ?? sets.at(-1);
    const used = new Set(own?.features);
    const unused = wanted.filter((feature) => !used.has(feature));
    return { march: image.requires.cpu.march, nativeMarch: march.name, unused, open };
  };
}

/** The worst code that a visible GPU runs; null for an image without GPU code. */
export function worstCode({ code }: Fit): CodeFit | null {
  return [...code].sort(compareCodeFits).at(-1) ?? null;
}

/**
 * Whether an image is native: machine code for exactly these GPUs under a driver that knows all of the toolkit, and all that compilers
 * use of the CPU. null where the facts do not tell.
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
  if (gpu !== null && (gpu.kind === "ptx" || gpu.distance > 0)) return false;
  if (cpu === null) return null;
  if (cpu.unused.length > 0) return false;
  return cpu.open ? null : true;
}
