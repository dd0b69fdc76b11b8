/** Groups hosts into classes: hosts that no rule can tell apart get the same image for the same reasons. */

import { allMarches } from "../hardware/cpu-marches.ts";
import type { HostFacts } from "../facts/facts.ts";
import type { NamedHost } from "../facts/named-host.ts";
import type { Lock } from "../lock/lock.ts";
import { remember } from "../io/collections.ts";
import { needsOf, variantsOf, vendorsOf } from "../lock/requirement.ts";
import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import {
  answerOfHost,
  type BySideOfHost,
  countsAlways,
  type HostView,
  judgedGpus,
  viewHost,
} from "./host-view.ts";

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
  readonly vendors: readonly GpuVendor[];
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
      const gpus = members.map((member) =>
        gpuVendors.flatMap<{ readonly name: string | null }>((vendor) => judgedGpus(vendor, member.facts)),
      );
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

/** AMD supports some releases on some kernels alone. */
const asksKernel: Readonly<Record<GpuVendor, boolean>> = { nvidia: false, amd: true };

function askedBy(fleets: readonly Pick<Lock, "images">[]): AskedFacts {
  const images = fleets.flatMap((fleet) => Object.values(fleet.images));
  const requirements = new Set(images.map(({ requires }) => requires));
  const cudas = [...requirements].flatMap(({ cuda }) => variantsOf(cuda));
  return {
    // Features of marches decide the native march of a host. Other CPU flags make no class.
    features: new Set([
      ...allMarches().flatMap(({ features }) => features),
      ...[...requirements].flatMap(({ cpu }) => variantsOf(cpu).flatMap(({ features }) => features)),
    ]),
    kernel: [...requirements].some(
      (each) => each.kernel !== undefined || vendorsOf(each).some((vendor) => asksKernel[vendor]),
    ),
    runtime: cudas.some(({ require }) => require !== undefined),
    compat: cudas.some(({ driver }) => driver.mode === "compat"),
    vendors: gpuVendors.filter((vendor) => [...requirements].some((each) => needsOf(vendor, each) !== null)),
  };
}

/** Equal for hosts that no rule can tell apart. Problems count by their codes, and the number of GPUs does not count. */
function keyOf(view: HostView, maker: string | null, asked: AskedFacts): string {
  const known = (features: ReadonlySet<string>) =>
    [...features].filter((feature) => asked.features.has(feature)).sort();
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
    gpuVendors.map((vendor) => [
      countsAlways[vendor] || asked.vendors.includes(vendor) ? view.unknownGpuFacts[vendor] : null,
      answerOfHost(keyOfSide, vendor, view, asked),
    ]),
  ]);
}

const keyOfSide: BySideOfHost<unknown, [asked: AskedFacts]> = {
  nvidia: ({ driverText, module, cuda, driverScale, compat, gpus }, asked) => [
    driverText,
    module,
    cuda?.text ?? null,
    driverScale,
    asked.compat ? compat : null,
    unique(gpus.map((gpu) => JSON.stringify([gpu.compute, gpu.class, gpu.brand]))),
  ],
  // For a fleet without images for AMD, a class only says that a GPU of AMD stays unused.
  amd: ({ driver, hasDriver, gpus }, asked) => [
    hasDriver,
    gpus.some(({ integrated }) => integrated !== true),
    asked.vendors.includes("amd")
      ? [driver?.text ?? null, unique(gpus.map(({ target, sramecc }) => `${target} ${sramecc}`))]
      : null,
  ],
};

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort();
}
