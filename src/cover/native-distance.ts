/** How far an image is from native code on a host: what a compiler would use there and the image does not. */

import { type March, marchesOn } from "../hardware/cpu-marches.ts";
import { compareVersions, parseVersion, type VersionParts } from "../hardware/driver-version.ts";
import type { HostFacts } from "../host/facts.ts";
import type { LockedImage } from "../lock/lock.ts";
import { ignoresMarch, neededRequirement } from "../lock/needed-requirement.ts";
import { featuresBuiltFor } from "../resolve/built-for.ts";
import { normalizePlatform } from "../resolve/host-view.ts";
import { compareCodeFits } from "../resolve/rules/gpu-code.ts";
import type { CodeFit, Fit, Tier } from "../resolve/verdict.ts";

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
    const used = new Set(ignoresMarch(image) ? neededRequirement(image).cpu.features : own?.features);
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
  if (gpu !== null && (gpu.kind === "ptx" || gpu.kind === "spirv" || gpu.distance > 0)) return false;
  if (cpu === null) return null;
  if (cpu.unused.length > 0) return false;
  return cpu.open ? null : true;
}

/** The march that a compiler would name for a host's own CPU. */
interface NativeMarch {
  /** Of those that the host has all features of, and that are its vendor's or generic, the one of which the compiler uses most. */
  readonly march: March;
  /** Whether features that the facts leave open could make it a higher one. */
  readonly open: boolean;
}

/** null where the facts name no features, and where the tables have no march of the platform that the host has all of. */
export function nativeMarch({ platform, cpu }: Pick<HostFacts, "platform" | "cpu">): NativeMarch | null {
  if (cpu.features === null) return null;
  const marches = marchesFor(normalizePlatform(platform), cpu.vendor);
  const proven = best(marches, new Set(cpu.features));
  if (proven === null) return null;
  const possible =
    cpu.unknown === undefined ? proven : best(marches, new Set([...cpu.features, ...cpu.unknown]));
  return { march: proven, open: possible?.name !== proven.name };
}

/**
 * A march says for which CPU code is scheduled, too: one of another maker is no CPU's own, although it may have all of its features, as
 * a Neoverse has those of an Apple M2. Facts that do not name a maker get the marches of those whose CPUs are in servers.
 */
function marchesFor(platform: string, vendor: string | null): readonly March[] {
  const makers = vendor === null ? unnamedMakers : [vendor];
  return marchesOn(platform).filter(({ vendor: maker }) => maker === "generic" || makers.includes(maker));
}

const unnamedMakers: readonly string[] = ["GenuineIntel", "AuthenticAMD", "ARM", "IBM"];

/** Of marches that are one to compilers, the one that they knew first. */
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
