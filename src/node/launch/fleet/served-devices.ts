/**
 * The devices that each image of a fleet may claim: asks `resolve` about hosts with one device, at the drivers where a rule changes its
 * answer. An expression over devices cannot ask for the processor, so here an image has the processor it was built for; the node's label says
 * the rest.
 */

import { amdArchitectures, findAmdArchitecture } from "../../../hardware/amd-architectures.ts";
import { parseComputeCapability } from "../../../hardware/compute-capability.ts";
import { cudaOfDriver, driverBranches } from "../../../hardware/cuda-toolkits.ts";
import { compareMinor, parseCudaVersion, parseVersion } from "../../../hardware/driver-version.ts";
import { answerOfSide, type BySide, type Side, sidesOf } from "../../../lock/requirement.ts";
import { type GpuVendor, gpuVendors } from "../../../hardware/gpu-vendors.ts";
import { unknownAmdGpu, unknownHost } from "../../../facts/no-facts.ts";
import { groupBy } from "../../../io/collections.ts";
import { alternativesOf } from "../../../lock/alternatives.ts";
import type { Lock, LockedImage } from "../../../lock/lock.ts";
import { viewAmd } from "../../../resolve/amd-view.ts";
import { featuresBuiltFor } from "../../../resolve/built-for.ts";
import { askWithoutCache, isEligible } from "../../../resolve/check-fit.ts";
import type { CompatView, NvidiaView } from "../../../resolve/nvidia-view.ts";
import type { HostView } from "../../../resolve/host-view.ts";
import { normalizePlatform } from "../../../lock/lock.ts";
import { prepareRanking, rank, type ResolveImageOptions } from "../../../resolve/resolve-image.ts";
import { checkAmdCode } from "../../../resolve/rules/amd/amd-gpus.ts";
import { driverThresholds } from "../../../resolve/rules/nvidia/driver.ts";
import { presenceThresholds } from "../../../resolve/rules/nvidia/nvidia-presence.ts";
import type { RuleThresholds } from "../../../resolve/rules/rule.ts";
import { isMisfit } from "../../../resolve/verdict.ts";
import { compatViews, sampleHost, sampleNvidia, servesGpu } from "../../sample-hosts.ts";
import { type GpuUnit, traitsOf } from "../gpu-units.ts";
import { knownComputes, versionNumber, versionText } from "../labels/vocabulary.ts";

/** GPUs that an image serves under the same drivers. */
export interface ServedGpus {
  readonly vendor: GpuVendor;
  /** Compute capabilities, or gfx targets. */
  readonly kinds: readonly string[];
  /** Alternatives. AMD's drivers do not count. */
  readonly drivers: readonly DriverRange[];
}

/** By {@link versionNumber}; null for no end. */
export interface DriverRange {
  readonly from: number;
  readonly before: number | null;
}

interface Device {
  readonly vendor: GpuVendor;
  readonly kind: string;
}

type OneServed = Device & Pick<ServedGpus, "drivers">;

/** A processor for which images were built, with these images. */
interface Processor {
  readonly platform: string;
  readonly features: ReadonlySet<string>;
  readonly cells: readonly string[];
}

interface Devices {
  readonly kinds: readonly string[];
  /** The drivers from which on some rule may answer otherwise, ascending. The first is older than all. */
  readonly starts: (kind: string, images: readonly LockedImage[]) => readonly number[];
  /** Hosts with this GPU alone: for a compatibility package, one with each container toolkit. */
  readonly samples: (kind: string, driver: number, isCompat: boolean) => readonly Partial<HostView>[];
}

const devices: Readonly<Record<GpuVendor, Devices>> = {
  nvidia: {
    kinds: knownComputes.flat(),
    starts: driverStarts,
    samples: (kind, driver, isCompat) =>
      (isCompat ? compatViews : [unknownCompat]).map((compat) => ({
        nvidia: nvidiaView(kind, driver, compat),
      })),
  },
  // AMD's drivers do not count.
  amd: {
    kinds: amdArchitectures.map(({ name }) => name),
    starts: () => [0],
    samples: (kind) => [{ amd: amdView(kind) }],
  },
};

const runs: BySide<boolean, [kind: string, axes: LockedImage["axes"]]> = {
  nvidia: (needs, kind) => servesGpu(needs, parseComputeCapability(kind)),
  amd: ({ code }, kind, { compute }) =>
    [true, false].some(
      (xnack) => !isMisfit(checkAmdCode({ code, compute, xnack }, amdView(kind)?.gpus ?? [])),
    ),
};

/** `isSure`: nothing but processor and driver decides. */
const demands: BySide<{ thresholds: readonly RuleThresholds[]; isCompat: boolean; isSure: boolean }> = {
  nvidia: (needs) => {
    const isCompat = needs.driver.mode === "compat";
    return {
      thresholds: [driverThresholds(needs)],
      isCompat,
      isSure: !isCompat && needs.require === undefined,
    };
  },
  amd: () => ({ thresholds: [], isCompat: false, isSure: true }),
};

const everyDevice = gpuVendors.flatMap((vendor) => devices[vendor].kinds.map((kind) => ({ vendor, kind })));

/**
 * By cell, the devices on which it wins: none for an image without GPU code, and none for one whose GPUs no driver tells. Throws as
 * `resolveImage` does.
 */
export function servedDevices(
  lock: Lock,
  options: ResolveImageOptions = {},
): ReadonlyMap<string, readonly ServedGpus[]> {
  const question = prepareRanking(lock, options);
  const eligible = question.cells.filter(([, image]) => isEligible(image, question.judge));
  const served = new Map(eligible.map(([cell]) => [cell, [] as OneServed[]]));
  for (const device of everyDevice) {
    const running = eligible.filter(([, image]) => runsOnDevice(image, device));
    const { starts, samples } = devices[device.vendor];
    const drivers = starts(
      device.kind,
      running.map(([, image]) => image),
    );
    const wins = new Map(running.map(([cell]) => [cell, new Set<number>()]));
    const ofDevice = { ...question, cells: running };
    for (const { platform, features, cells } of processorsOf(running)) {
      const isCompat = cells.flatMap((cell) => demandsOf(lock.images[cell])).some((each) => each.isCompat);
      const asked = drivers.flatMap((driver) =>
        samples(device.kind, driver, isCompat).map((gpus) => ({ driver, gpus })),
      );
      for (const { driver, gpus } of asked) {
        const host = { ...sampleHost(null, "cdi"), ...gpus, platform, features, kernel: anyKernel };
        const { ranked } = rank(ofDevice, unknownHost(platform), host, askWithoutCache);
        for (const cell of cells) {
          const first = ranked.find((each) => each.cell === cell || isSure(lock.images[each.cell]));
          if (first?.cell === cell) wins.get(cell)?.add(driver);
        }
      }
    }
    for (const [cell, won] of wins)
      if (won.size > 0) served.get(cell)?.push({ ...device, drivers: rangesOf(won, drivers) });
  }
  return new Map([...served].map(([cell, devices]) => [cell, byDrivers(devices)]));
}

/** The image has code for this GPU, whatever the driver. */
export function runsOn(image: LockedImage, unit: GpuUnit): boolean {
  const kind = traitsOf(unit).code;
  return kind !== null && runsOnDevice(image, { vendor: unit.vendor, kind });
}

function runsOnDevice(image: LockedImage, { vendor, kind }: Device): boolean {
  return sidesIn(image).some((side) => side.vendor === vendor && answerOfSide(runs, side, kind, image.axes));
}

/** On a node with everything else a cell needs, only processor and driver decide about the image. */
function isSure(image: LockedImage | undefined): boolean {
  const isOpen = image === undefined || image.requires.kernel !== undefined;
  return !isOpen && demandsOf(image).every((each) => each.isSure);
}

function demandsOf(image: LockedImage | undefined) {
  return image === undefined ? [] : sidesIn(image).map((side) => answerOfSide(demands, side));
}

function sidesIn(image: LockedImage): readonly Side[] {
  return alternativesOf(image).flatMap(({ requires }) => sidesOf(requires));
}

function processorsOf(images: readonly (readonly [string, LockedImage])[]): readonly Processor[] {
  const built = images.flatMap(([cell, image]) =>
    alternativesOf(image)
      .flatMap(featuresBuiltFor)
      .map(({ features }) => ({ cell, platform: normalizePlatform(image.platform), features })),
  );
  return [...groupBy(built, ({ platform, features }) => `${platform} ${features.join()}`).values()].flatMap(
    (alike) =>
      alike.slice(0, 1).map(({ platform, features }) => ({
        platform,
        features: new Set(features),
        cells: [...new Set(alike.map(({ cell }) => cell))],
      })),
  );
}

const unknownCompat: CompatView = { adds: null, hostFirst: null };
const anyKernel: HostView["kernel"] = { text: "9999", parts: [9999] };

function nvidiaView(kind: string, driver: number, compat: CompatView): NvidiaView {
  const version = versionText(driver);
  return sampleNvidia(version, cudaOfDriver(version), { compute: parseComputeCapability(kind), compat });
}

/** As a ResourceSlice describes the GPU: sramecc is unknown where a target may have it. */
function amdView(target: string): HostView["amd"] {
  const { sramecc, integrated } = findAmdArchitecture(target) ?? { sramecc: null, integrated: null };
  const gpu = { ...unknownAmdGpu(0), target, sramecc: sramecc === false ? false : null, integrated };
  return viewAmd({ ...unknownHost("linux/amd64"), amd: { driver: "6.14.14", gpus: [gpu] } });
}

function driverStarts(kind: string, images: readonly LockedImage[]): readonly number[] {
  const compute = parseComputeCapability(kind);
  if (compute === null) return [0];
  const ofImages = images.flatMap(demandsOf).flatMap(({ thresholds }) => thresholds);
  const branches = branchesAt(ofImages.flatMap(({ cudas }) => cudas));
  const all = [...ofImages, presenceThresholds(compute), { drivers: branches, after: false }];
  const numbers = all.flatMap(({ drivers, after }) =>
    drivers.flatMap((text) => {
      const parts = parseVersion(text);
      if (parts === null) return [];
      return after ? [versionNumber(parts), versionNumber(parts) + 1] : [versionNumber(parts)];
    }),
  );
  const starts = [1, ...numbers];
  return [...new Set([...starts, ...starts.flatMap(nextKnown)])].sort((a, b) => a - b);
}

/** The first driver behind this one of which the tables know the CUDA version; none if they know this driver's. */
function nextKnown(driver: number): readonly number[] {
  const isKnown = (number: number) => cudaOfDriver(versionText(number)) !== null;
  const next = driverBranches
    .map(({ branch }) => versionNumber([branch]))
    .find((number) => number > driver && isKnown(number));
  return isKnown(driver) || next === undefined ? [] : [next];
}

/** The driver branches whose CUDA version reaches a given version, or is unknown. */
function branchesAt(cudas: readonly string[]): readonly string[] {
  const compared = cudas.flatMap((cuda) => parseCudaVersion(cuda) ?? []);
  const reached = (version: string | null | undefined) => {
    const own = version == null ? null : parseCudaVersion(version);
    return own === null ? "unknown" : compared.filter((other) => compareMinor(own, other) >= 0).length;
  };
  return driverBranches
    .filter(({ cuda }, at) => at === 0 || reached(cuda) !== reached(driverBranches[at - 1]?.cuda))
    .map(({ branch }) => String(branch));
}

function byDrivers(served: readonly OneServed[]): readonly ServedGpus[] {
  const groups = groupBy(served, ({ vendor, drivers }) => `${vendor} ${JSON.stringify(drivers)}`);
  return [...groups.values()].flatMap((alike) =>
    alike.slice(0, 1).map(({ vendor, drivers }) => ({
      ...{ vendor, drivers },
      kinds: alike.map(({ kind }) => kind),
    })),
  );
}

function rangesOf(wins: ReadonlySet<number>, drivers: readonly number[]): readonly DriverRange[] {
  const starts = drivers.filter((driver, at) => wins.has(driver) && !wins.has(drivers[at - 1] ?? -1));
  return starts.map((from) => ({
    from,
    before: drivers.find((driver) => driver > from && !wins.has(driver)) ?? null,
  }));
}
