/** Groups hosts into classes: hosts that no rule can tell apart get the same image for the same reasons. */

import { allMarches } from "../hardware/cpu-marches.ts";
import type { HostFacts } from "../host/facts.ts";
import type { NamedHost } from "../host/read-hosts.ts";
import type { Lock } from "../lock/lock.ts";
import { remember } from "../io/collections.ts";
import { amdGpusOf } from "./amd-view.ts";
import { type HostView, viewHost } from "./host-view.ts";

export interface HostClass {
  /** The facts of the first host. The others differ only in facts that no rule asks for. */
  readonly facts: HostFacts;
  /** In the order of the hosts. Several hosts may have one name. */
  readonly names: readonly string[];
  /** For each name, the digests of each image that the host has; null if unknown. */
  readonly localImages: readonly (readonly (readonly string[])[] | null)[];
  /** Names of GPU products, sorted and unique. */
  readonly products: readonly string[];
  /** The fewest and the most GPUs of a host. */
  readonly gpuCount: readonly [number, number];
  /** The sources of their CPU features, sorted and unique. */
  readonly cpuSources: readonly string[];
}

/** The facts that only some fleets ask for. */
interface AskedFacts {
  readonly features: ReadonlySet<string>;
  readonly kernel: boolean;
  readonly runtime: boolean;
  readonly compat: boolean;
  readonly amd: boolean;
}

/** Classes for all these fleets together: the largest first, then in the order of their first hosts. */
export function classifyHosts(
  hosts: readonly NamedHost[],
  fleets: readonly Pick<Lock, "images">[],
): readonly HostClass[] {
  const asked = askedBy(fleets);
  const groups = new Map<string, { readonly facts: HostFacts; readonly members: NamedHost[] }>();
  for (const host of hosts) {
    const key = keyOf(viewHost(host.facts), host.facts.cpu.vendor, asked);
    remember(groups, key, () => ({ facts: host.facts, members: [] })).members.push(host);
  }
  return [...groups.values()]
    .map(({ facts, members }): HostClass => {
      const gpus = members.map(({ facts: { nvidia, amd } }) => [
        ...(nvidia?.gpus ?? []),
        ...amdGpusOf(amd ?? { gpus: [] }).judged,
      ]);
      const counts = gpus.map(({ length }) => length);
      return {
        facts,
        names: members.map(({ name }) => name),
        localImages: members.map(({ images = null }) => images),
        products: [...new Set(gpus.flatMap((list) => list.flatMap(({ name }) => name ?? [])))].sort(),
        gpuCount: [Math.min(...counts), Math.max(...counts)],
        cpuSources: [...new Set(members.flatMap((each) => each.facts.sources["cpu.features"] ?? []))].sort(),
      };
    })
    .sort((a, b) => b.names.length - a.names.length);
}

function askedBy(fleets: readonly Pick<Lock, "images">[]): AskedFacts {
  const images = fleets.flatMap((fleet) => Object.values(fleet.images));
  const requirements = new Set(images.map(({ requires }) => requires));
  return {
    // Features of marches decide the native march of a host. Other CPU flags make no class.
    features: new Set([
      ...allMarches().flatMap(({ features }) => features),
      ...[...requirements].flatMap(({ cpu }) => [cpu, ...(cpu.or ?? [])].flatMap(({ features }) => features)),
    ]),
    kernel: [...requirements].some(({ kernel }) => kernel !== undefined),
    runtime: [...requirements].some(({ cuda }) =>
      [cuda, ...(cuda?.or ?? [])].some((each) => each?.require !== undefined),
    ),
    amd: [...requirements].some(({ rocm }) => rocm != null),
    compat: [...requirements].some(({ cuda }) =>
      [cuda, ...(cuda?.or ?? [])].some((each) => each?.driver.mode === "compat"),
    ),
  };
}

/** Equal for hosts that no rule can tell apart. Problems count by their codes, and the number of GPUs does not count. */
function keyOf({ nvidia, amd, ...view }: HostView, maker: string | null, asked: AskedFacts): string {
  const known = (features: ReadonlySet<string>) =>
    [...features].filter((feature) => asked.features.has(feature)).sort();
  const gpus = nvidia?.gpus.map((gpu) => JSON.stringify([gpu.compute, gpu.class, gpu.brand])) ?? [];
  return JSON.stringify([
    view.platform,
    // The maker decides the native march.
    maker,
    view.cpu.level,
    view.features === null ? null : known(view.features),
    known(view.unknownFeatures),
    asked.kernel ? view.kernel : null,
    asked.runtime ? view.runtime : null,
    [...view.broken, ...view.otherProblems].map(({ code }) => code).sort(),
    view.unknownGpuFacts.nvidia,
    asked.amd ? view.unknownGpuFacts.amd : null,
    // For a fleet without images for AMD, a class only says that a GPU of AMD stays unused.
    amd === null
      ? null
      : [
          amd.driven,
          amd.gpus.some(({ integrated }) => integrated !== true),
          ...(asked.amd
            ? [
                amd.driver?.text ?? null,
                [...new Set(amd.gpus.map(({ target, sramecc }) => `${target} ${sramecc}`))].sort(),
              ]
            : []),
        ],
    nvidia === null
      ? null
      : [
          nvidia.driverText,
          nvidia.module,
          nvidia.cuda?.text ?? null,
          nvidia.scale,
          asked.compat ? nvidia.compat : null,
          [...new Set(gpus)].sort(),
        ],
  ]);
}
