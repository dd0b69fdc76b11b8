/** The distance of an image from native code on a host: features that a compiler would use there, and the image does not. */

import { type March, marchesOn } from "../hardware/cpu-marches.ts";
import { compareVersions, parseVersion, type VersionParts } from "../hardware/driver-version.ts";
import type { HostFacts } from "../facts/facts.ts";
import type { LockedImage } from "../lock/lock.ts";
import { ignoresMarch, neededRequirement } from "../lock/needed-requirement.ts";
import { featuresBuiltFor } from "../resolve/built-for.ts";
import { normalizePlatform } from "../lock/lock.ts";
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

/** The march that a compiler would name for a host's CPU. */
interface NativeMarch {
  /** Of its vendor or generic. The march with the most features a compiler uses, among the marches the host has in full. */
  readonly march: March;
  /** Features that the facts leave open could make the march a higher march. */
  readonly isUndecided: boolean;
}

/** null if the facts name no features, or the host has all features of no march. */
export function nativeMarch({ platform, cpu }: Pick<HostFacts, "platform" | "cpu">): NativeMarch | null {
  if (cpu.features === null) return null;
  const marches = marchesFor(normalizePlatform(platform), cpu.vendor);
  const proven = best(marches, new Set(cpu.features));
  if (proven === null) return null;
  const possible =
    cpu.unknown === undefined ? proven : best(marches, new Set([...cpu.features, ...cpu.unknown]));
  return { march: proven, isUndecided: possible?.name !== proven.name };
}

/**
 * Leaves out marches of other makers, as a march also decides for which CPU code is scheduled. If the facts name no maker, the makers of
 * servers count.
 */
function marchesFor(platform: string, vendor: string | null): readonly March[] {
  const makers = vendor === null ? unnamedMakers : [vendor];
  return marchesOn(platform).filter(({ vendor: maker }) => maker === "generic" || makers.includes(maker));
}

const unnamedMakers: readonly string[] = ["GenuineIntel", "AuthenticAMD", "ARM", "IBM"];

/** Of equal marches, the one that compilers knew first. */
function best(marches: readonly March[], present: ReadonlySet<string>): March | null {
  return marches
    .filter(({ features }) => features.every((feature) => present.has(feature)))
    .reduce<March | null>((found, march) => (found === null || isMore(march, found) ? march : found), null);
}

function isMore(march: March, other: March): boolean {
  const more = march.required.length - other.required.length || march.features.length - other.features.length;
  return more > 0 || (more === 0 && compareVersions(firstGcc(march), firstGcc(other)) < 0);
}

function firstGcc({ compiler: { gcc } }: March): VersionParts {
  return parseVersion(gcc ?? "") ?? [Number.POSITIVE_INFINITY];
}
