/** The march that compilers take for `native` on a host. */

import { readFileSync } from "node:fs";
import { endianness } from "node:os";
import type { HostFacts } from "../facts/facts.ts";
import { type March, marchesOn } from "../hardware/cpu-marches.ts";
import { compareVersions, parseVersion, type VersionParts } from "../hardware/driver-version.ts";
import { attempt } from "../io/attempt.ts";
import { normalizePlatform } from "../lock/lock.ts";
import { readCpu } from "./cpu/cpu-facts.ts";
import { ociArchitecture } from "./oci-architecture.ts";

/** Of this machine, by its name; null where it is not known. */
export function marchHere(): string | null {
  const architecture = ociArchitecture({ arch: process.arch, endianness: endianness() });
  const readText = (path: string) => attempt(() => readFileSync(path, "utf8"), null);
  const cpu = readCpu({ readText }, architecture).facts;
  return nativeMarch({ platform: `linux/${architecture}`, cpu })?.march.name ?? null;
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
