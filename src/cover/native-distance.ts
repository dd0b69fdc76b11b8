/** How far an image is from native code on a host: what a compiler would use there and the image does not. */

import { findMarch, type March, marchNames, marchPlatform } from "../hardware/cpu-marches.ts";
import { compareVersions, parseVersion, type VersionParts } from "../hardware/version.ts";
import type { HostFacts } from "../host/facts.ts";
import type { LockedImage } from "../lock/lock.ts";
import { featuresBuiltFor } from "../resolve/built-for.ts";
import { normalizePlatform } from "../resolve/host-view.ts";
import { compareCodeFits } from "../resolve/rules/gpu-code.ts";
import type { CodeFit, Fit } from "../resolve/verdict.ts";

export interface CpuDistance {
  /** The image's. */
  readonly march: string;
  /** The march of which the host has all, and the compiler uses most. */
  readonly nativeMarch: string;
  /** Features that compilers use for `nativeMarch` by themselves, and that the image was not built for; sorted. */
  readonly unused: readonly string[];
}

/** null where the tables or the facts do not tell what native code would be. */
export function cpuDistance(
  image: LockedImage,
  { platform, cpu: { features } }: Pick<HostFacts, "platform" | "cpu">,
): CpuDistance | null {
  const present = new Set(features ?? []);
  const native = features === null ? null : nativeMarch(normalizePlatform(platform), present);
  if (native === null) return null;
  const sets = featuresBuiltFor(image);
  const own = sets.find((set) => set.features.every((feature) => present.has(feature))) ?? sets.at(-1);
  const used = new Set(own?.features);
  // Less what no computing code needs.
  const asked = new Set(native.features);
  return {
    march: image.requires.cpu.march,
    nativeMarch: native.name,
    unused: native.required.filter((feature) => asked.has(feature) && !used.has(feature)).sort(),
  };
}

/** Of marches that are one to compilers, the one that they knew first. */
export function nativeMarch(platform: string, present: ReadonlySet<string>): March | null {
  return marchNames()
    .flatMap((name) => findMarch(name) ?? [])
    .filter((march) => marchPlatform(march) === platform)
    .filter(({ features }) => features.every((feature) => present.has(feature)))
    .reduce<March | null>((best, march) => (best === null || isMore(march, best) ? march : best), null);
}

function isMore(march: March, other: March): boolean {
  const more = march.required.length - other.required.length || march.features.length - other.features.length;
  return more > 0 || (more === 0 && compareVersions(firstGcc(march), firstGcc(other)) < 0);
}

function firstGcc({ compiler: { gcc } }: March): VersionParts {
  return parseVersion(gcc ?? "") ?? [Number.POSITIVE_INFINITY];
}

/** The worst code that a visible GPU runs; null for an image without GPU code. */
export function worstCode({ code }: Fit): CodeFit | null {
  return [...code].sort(compareCodeFits).at(-1) ?? null;
}

/** Machine code for exactly these GPUs, and all that compilers use of the CPU. null where it cannot be told. */
export function isNative(cpu: CpuDistance | null, gpu: CodeFit | null): boolean | null {
  if (gpu !== null && (gpu.kind === "ptx" || gpu.distance > 0)) return false;
  return cpu === null ? null : cpu.unused.length === 0;
}
