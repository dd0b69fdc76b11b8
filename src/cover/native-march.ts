/** The march that a compiler would name for a host's own CPU. */

import { type March, marchesOn } from "../hardware/cpu-marches.ts";
import { compareVersions, parseVersion, type VersionParts } from "../hardware/driver-version.ts";
import type { HostFacts } from "../host/facts.ts";
import { normalizePlatform } from "../resolve/host-view.ts";

export interface NativeMarch {
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
