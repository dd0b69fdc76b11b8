/** What the page of a cover is told: the report, and of fleet and hosts what its own rules need to answer every why-not. */

import type { GpuFacts, HostFacts } from "../../host/facts.ts";
import type { NamedHost } from "../../host/read-hosts.ts";
import { unknownGpu } from "../../host/unknown.ts";
import type { Lock, LockedImage } from "../../lock/lock.ts";
import { plainPins } from "../../resolve/pins.ts";
import type { ResolveOptions } from "../../resolve/resolve-options.ts";
import { version } from "../../version.ts";
import type { CoverReport } from "../cover-report.ts";
import type { CoveredClass, CoverFleet } from "../cover.ts";
import type { HostClass } from "../host-classes.ts";
import { openCover } from "../open-cover.ts";

export interface PageData {
  /** Of imgmatch. */
  readonly version: string;
  readonly report: PageReport;
  readonly now: PageFleet;
  /** With the changes of `--what-if`; null where none were asked for. */
  readonly after: PageFleet | null;
  readonly question: PageQuestion;
}

/** What also fits a class, hundreds of names for each, is worked out by the page. */
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

/** `ResolveOptions` as data. */
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
  options: ResolveOptions,
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
  const { measured, adopted } = more;
  return {
    ...{ axes, platform, tag, inputDigest, digest, requires },
    ...(measured === undefined ? {} : { measured }),
    ...(adopted === undefined ? {} : { adopted }),
    ...{ bases: [], builder: "", created: null, size: null },
  };
}

function plain(facts: HostFacts): HostFacts {
  const { nvidia } = facts;
  const asked = { ...facts, sources: {} };
  return nvidia === null ? asked : { ...asked, nvidia: { ...nvidia, gpus: nvidia.gpus.map(plainGpu) } };
}

function plainGpu({ index, name, compute, class: kind }: GpuFacts): GpuFacts {
  return { ...unknownGpu(index), name, compute, class: kind };
}

function questionOf(
  locks: readonly Lock[],
  { pins = {}, cpuOnly = false, requireGpu = false, prefer, local }: ResolveOptions,
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

/** What {@link pageData} was asked with, as far as this fleet can tell. */
export function optionsOf({ pins, cpuOnly, requireGpu, prefer, local }: PageQuestion): ResolveOptions {
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

/** Primitives as they are; `[0, …]` a list, `[n, …]` an object of the shape `n - 1`; what they hold is given by its place. */
type Node = string | number | boolean | null | readonly number[];

interface Packed {
  /** Names of members. */
  readonly shapes: readonly (readonly string[])[];
  /** What others hold stands before them; the last one is the whole. */
  readonly nodes: readonly Node[];
}

/** Of what JSON can say. Members that are undefined are left out, as in JSON. */
export function pack(value: unknown): string {
  const shapes = distinct<readonly string[]>();
  const nodes = distinct<Node>();
  const place = (each: unknown): number => {
    if (Array.isArray(each)) return nodes.placeOf([0, ...each.map(place)]);
    if (typeof each !== "object" || each === null) return nodes.placeOf(each as Node);
    const members = Object.entries(each).filter(([, member]) => member !== undefined);
    const shape = shapes.placeOf(members.map(([name]) => name));
    return nodes.placeOf([shape + 1, ...members.map(([, member]) => place(member))]);
  };
  place(value);
  return JSON.stringify({ shapes: shapes.all, nodes: nodes.all } satisfies Packed);
}

function distinct<Value>() {
  const all: Value[] = [];
  const places = new Map<string, number>();
  const placeOf = (value: Value): number => {
    const key = JSON.stringify(value);
    const known = places.get(key);
    if (known !== undefined) return known;
    places.set(key, all.push(value) - 1);
    return all.length - 1;
  };
  return { all, placeOf };
}

/** What {@link pack} was given. What was equal is one object now. */
export function unpack(text: string): unknown {
  const { shapes, nodes } = JSON.parse(text) as Packed;
  const values: unknown[] = [];
  for (const node of nodes) values.push(Array.isArray(node) ? composed(node, shapes, values) : node);
  return values.at(-1);
}

function composed(
  [kind = 0, ...places]: readonly number[],
  shapes: Packed["shapes"],
  values: readonly unknown[],
): unknown {
  const members = places.map((place) => values[place]);
  if (kind === 0) return members;
  // Own members whatever their names: `__proto__` is one among others.
  return Object.fromEntries((shapes[kind - 1] ?? []).map((name, index) => [name, members[index]]));
}
