/** The data of the page: the report, and all facts and images that the rules need for its answers. */

import type { CoveredClass } from "../cover-classes.ts";
import type { CoverFleet } from "../cover-fleet.ts";
import type { HostClass } from "../../resolve/host-classes.ts";
import { applyChanges } from "../what-if.ts";
import type { CoverReport } from "../cover-report.ts";
import type { AmdGpuFacts, GpuFacts, HostFacts } from "../../facts/facts.ts";
import type { NamedHost } from "../../facts/named-host.ts";
import { unknownGpu } from "../../facts/no-facts.ts";
import type { Lock, LockedImage } from "../../lock/lock.ts";
import { type GpuVendor, gpuVendors } from "../../hardware/gpu-vendors.ts";
import type { ResolveImageOptions } from "../../resolve/resolve-options.ts";
import { plainPins } from "../../resolve/pins.ts";
import { version } from "../../version.ts";

export interface PageData {
  /** The version of imgmatch. */
  readonly version: string;
  readonly report: PageReport;
  readonly now: PageFleet;
  /** With the changes of `--what-if`; null without changes. */
  readonly after: PageFleet | null;
  readonly question: PageOptions;
}

/** A class without `others`, hundreds of names for each: the page computes them. */
export type PageClass = Omit<CoveredClass, "others">;

type WhatIf = NonNullable<CoverReport["whatIf"]>;

export type PageReport = Omit<CoverReport, "classes" | "whatIf"> & {
  readonly classes: readonly PageClass[];
  readonly whatIf?: Omit<WhatIf, "after"> & {
    readonly after: Omit<WhatIf["after"], "classes"> & { readonly classes: readonly PageClass[] };
  };
};

export interface PageFleet {
  readonly lock: Lock;
  /** The facts of the classes `c1`, `c2`, …, without serial numbers, addresses and use: no rule asks for them. */
  readonly hosts: readonly HostFacts[];
}

/** `ResolveImageOptions` as data. */
export interface PageOptions {
  readonly pins: Readonly<Record<string, { readonly text: string; readonly values: readonly string[] }>>;
  readonly cpuOnly: boolean;
  readonly requireGpu: boolean;
  readonly prefer: readonly string[] | null;
  readonly local: readonly string[] | null;
}

/** @param report of the same fleet, hosts and options */
export function pageData(
  fleet: CoverFleet,
  hosts: readonly NamedHost[],
  report: CoverReport,
  options: ResolveImageOptions,
): PageData {
  const { classes, after } = applyChanges(fleet, hosts, report.whatIf?.changes ?? []);
  const locks = [fleet.lock, ...(after === null ? [] : [after.fleet.lock])];
  const { whatIf, ...now } = report;
  return {
    version,
    report: {
      ...now,
      classes: now.classes.map(withoutOthers),
      ...(whatIf === undefined
        ? {}
        : {
            whatIf: {
              ...whatIf,
              after: { ...whatIf.after, classes: whatIf.after.classes.map(withoutOthers) },
            },
          }),
    },
    now: pageFleet(fleet.lock, classes),
    after: after === null ? null : pageFleet(after.fleet.lock, after.classes),
    question: questionOf(locks, options),
  };
}

function withoutOthers({ others: _, ...each }: CoveredClass): PageClass {
  return each;
}

function pageFleet(lock: Lock, classes: readonly HostClass[]): PageFleet {
  const images = Object.entries(lock.images).map(([cell, image]) => [cell, judgedPartOf(image)]);
  return {
    lock: { ...lock, images: Object.fromEntries(images) },
    hosts: classes.map(({ facts }) => plain(facts)),
  };
}

/** Leaves out how the image was built, and its size: no rule asks for them. */
function judgedPartOf({
  axes,
  platform,
  tag,
  inputDigest,
  digest,
  requires,
  ...more
}: LockedImage): LockedImage {
  const { repository, local, measured, adopted } = more;
  return {
    ...{ axes, platform, tag, inputDigest, digest, requires },
    ...(repository === undefined ? {} : { repository }),
    ...(local === undefined ? {} : { local }),
    ...(measured === undefined ? {} : { measured }),
    ...(adopted === undefined ? {} : { adopted }),
    ...{ bases: [], builder: "", created: null, size: null },
  };
}

/** The facts of each vendor that rules ask for, with the sources that rules ask about. */
const plainSides: Readonly<Record<GpuVendor, (facts: HostFacts) => PlainSide>> = {
  nvidia: ({ nvidia }) => ({
    facts: nvidia && { nvidia: { ...nvidia, gpus: nvidia.gpus.map(plainGpu) } },
    sources: [],
  }),
  amd: ({ amd, sources }) => ({
    facts: amd && { amd: { ...amd, gpus: amd.gpus.map(plainAmdGpu) } },
    // A rule reads from these sources whether a driver has the GPUs.
    sources: amd == null ? [] : Object.entries(sources).filter(([fact]) => fact.startsWith("amd.")),
  }),
};

interface PlainSide {
  readonly facts: Partial<HostFacts> | null | undefined;
  readonly sources: readonly (readonly [string, string])[];
}

function plain(facts: HostFacts): HostFacts {
  const sides = gpuVendors.map((vendor) => plainSides[vendor](facts));
  const sources = Object.fromEntries(sides.flatMap((side) => side.sources));
  return Object.assign({ ...facts, sources }, ...sides.map((side) => side.facts));
}

/** Leaves out the card's numbers and its place on the bus. */
function plainAmdGpu(gpu: AmdGpuFacts): AmdGpuFacts {
  return { ...gpu, uuid: null, pci: null, bus: null, memoryMiB: null, partition: null };
}

function plainGpu({ index, name, compute, class: kind }: GpuFacts): GpuFacts {
  return { ...unknownGpu(index), name, compute, class: kind };
}

function questionOf(
  locks: readonly Lock[],
  { pins = {}, cpuOnly = false, requireGpu = false, prefer, local }: ResolveImageOptions,
): PageOptions {
  const axes = locks.flatMap(({ images }) => Object.values(images).map((image) => image.axes));
  const valuesOf = (axis: string) => [...new Set(axes.flatMap((each) => each[axis] ?? []))].sort();
  return {
    pins: Object.fromEntries(
      Object.entries(plainPins(pins)).map(([axis, { text, matches }]) => [
        axis,
        { text, values: valuesOf(axis).filter(matches) },
      ]),
    ),
    cpuOnly,
    requireGpu,
    prefer: prefer ?? null,
    local: local === undefined ? null : [...local].sort(),
  };
}

/** Restores the options of {@link pageData}. Pins match the values that the fleet had then. */
export function optionsOf({ pins, cpuOnly, requireGpu, prefer, local }: PageOptions): ResolveImageOptions {
  return {
    pins: Object.fromEntries(
      Object.entries(pins).map(([axis, { text, values }]) => [
        axis,
        { text, matches: (value: string) => values.includes(value) },
      ]),
    ),
    cpuOnly,
    requireGpu,
    ...(prefer === null ? {} : { prefer }),
    ...(local === null ? {} : { local: new Set(local) }),
  };
}
