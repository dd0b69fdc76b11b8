/** The data of a cover's page: the report, and the parts of fleet and hosts with which its rules answer every why-not. */

import type { CoveredClass, CoverFleet } from "../cover-classes.ts";
import type { HostClass } from "../host-classes.ts";
import { openCover } from "../what-if.ts";
import type { CoverReport } from "../cover-report.ts";
import type { AmdGpuFacts, GpuFacts, HostFacts } from "../../host/facts.ts";
import type { NamedHost } from "../../host/read-hosts.ts";
import { unknownGpu } from "../../host/unknown-facts.ts";
import type { Lock, LockedImage } from "../../lock/lock.ts";
import type { ResolveImageOptions } from "../../resolve/resolve-options.ts";
import { plainPins } from "../../resolve/pins.ts";
import { version } from "../../version.ts";

export interface PageData {
  /** Of imgmatch. */
  readonly version: string;
  readonly report: PageReport;
  readonly now: PageFleet;
  /** With the changes of `--what-if`; null where none were asked for. */
  readonly after: PageFleet | null;
  readonly question: PageQuestion;
}

/** A class without the other images that fit, hundreds of names for each: the page works them out. */
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
  /** Of class `c1`, `c2`, …: without what no rule asks, as serial numbers, addresses and use are. */
  readonly hosts: readonly HostFacts[];
}

/** `ResolveImageOptions` as data. */
export interface PageQuestion {
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
  const { classes, after } = openCover(fleet, hosts, report.whatIf?.changes ?? []);
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
  const images = Object.entries(lock.images).map(([cell, image]) => [cell, askedOf(image)]);
  return {
    lock: { ...lock, images: Object.fromEntries(images) },
    hosts: classes.map(({ facts }) => plain(facts)),
  };
}

/** How it was built, and what it takes, says nothing of where it runs. */
function askedOf({ axes, platform, tag, inputDigest, digest, requires, ...more }: LockedImage): LockedImage {
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

function plain(facts: HostFacts): HostFacts {
  const { nvidia, amd, sources } = facts;
  // From where they are known says whether a driver has them.
  const kept = Object.entries(sources).filter(([fact]) => amd != null && fact.startsWith("amd."));
  return {
    ...facts,
    sources: Object.fromEntries(kept),
    ...(nvidia != null && { nvidia: { ...nvidia, gpus: nvidia.gpus.map(plainGpu) } }),
    ...(amd != null && { amd: { ...amd, gpus: amd.gpus.map(plainAmdGpu) } }),
  };
}

/** Cards have numbers of their own, and places on their machine's bus. */
function plainAmdGpu(gpu: AmdGpuFacts): AmdGpuFacts {
  return { ...gpu, uuid: null, pci: null, bus: null, memoryMiB: null, partition: null };
}

function plainGpu({ index, name, compute, class: kind }: GpuFacts): GpuFacts {
  return { ...unknownGpu(index), name, compute, class: kind };
}

function questionOf(
  locks: readonly Lock[],
  { pins = {}, cpuOnly = false, requireGpu = false, prefer, local }: ResolveImageOptions,
): PageQuestion {
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

/** The options that {@link pageData} was asked with, as far as this fleet can tell. */
export function optionsOf({ pins, cpuOnly, requireGpu, prefer, local }: PageQuestion): ResolveImageOptions {
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
