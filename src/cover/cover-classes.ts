/** Finds the image of each host class, how well the image fits, and the images without a host. */

import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import type { HostFacts } from "../facts/facts.ts";
import type { Lock } from "../lock/lock.ts";
import { amdGpusOf } from "../resolve/amd-view.ts";
import type { HostView } from "../resolve/host-view.ts";
import { type ResolveImageOptions, wantsCpu } from "../resolve/resolve-options.ts";
import { explainOrder } from "../resolve/rank.ts";
import { immutableReferenceOf, type Ranking } from "../resolve/resolve-image.ts";
import { createResolver, type Resolver } from "../resolve/resolver.ts";
import { ignoresMarch } from "../lock/needed-requirement.ts";
import { suggestCell } from "../resolve/suggest-cell.ts";
import { sideOf } from "../resolve/rules/gpu-side.ts";
import { causeOf } from "../resolve/rules/gpu-presence.ts";
import { imagesOf, unusedBy, vendorsUnusedBy } from "../resolve/unasked.ts";
import type { CodeFit, Tier } from "../resolve/verdict.ts";
import { type CoverFleet, isPlanned } from "./cover-fleet.ts";
import { costOf, type FleetCost } from "./fleet-cost.ts";
import type { HostClass } from "../resolve/host-classes.ts";
import { type CoveredImage, hostsOf, isUnused, namedReasons, type Reason, useOfImages } from "./image-use.ts";
import { nativeMarch } from "../host/native-march.ts";
import { cpuDistanceFrom, isNative, type CpuDistance, worstCode } from "./native-distance.ts";

const coverSchemaVersion = 1;

/** `imgmatch cover --json`: a contract. */
export interface Cover {
  readonly schemaVersion: typeof coverSchemaVersion;
  readonly fleet: {
    readonly from: CoverFleet["from"];
    readonly name: string;
    readonly version: string;
    readonly repository: string;
  };
  readonly counts: CoverCounts;
  /** The sum of all images. */
  readonly cost: FleetCost;
  /** The largest first. */
  readonly classes: readonly CoveredClass[];
  /** In the order of their cells. */
  readonly images: readonly CoveredImage[];
}

/** Numbers of hosts, except `classes` and those of images. */
export interface CoverCounts {
  readonly hosts: number;
  readonly classes: number;
  readonly images: number;
  readonly served: number;
  /** Hosts with native code for GPUs and CPU. */
  readonly native: number;
  readonly unserved: number;
  /** Hosts with GPUs, under a driver or not, that get an image without GPU code. */
  readonly unusedGpus: number;
  /** Images that no host gets, even with pins. */
  readonly unusedImages: number;
  /** Images that hosts get only with pinned free axes. */
  readonly pinnedImages: number;
}

export interface CoveredClass {
  /** `c1`, by its place in the list. */
  readonly id: string;
  readonly hosts: number;
  readonly names: readonly string[];
  readonly host: ClassDescription;
  /** null for a class that gets nothing. */
  readonly match: ClassMatch | null;
  /** Cells that fit too, the better ones first. */
  readonly others: readonly string[];
  /** The class has GPUs, under a driver or not, and gets an image without GPU code. */
  readonly unusedGpus: boolean;
  /** Only for a class that gets nothing, or leaves GPUs unused: the image that misses by the least, of those for its GPUs if there are any. */
  readonly nearest: NearMiss | null;
  /** The cell that would serve the class, or the cure of a missing driver, if the facts tell. null for a class with native code. */
  readonly serve: string | null;
}

export interface ClassDescription {
  readonly platform: string;
  readonly level: string | null;
  /** Of the CPU's maker, or generic; null if unknown. */
  readonly nativeMarch: string | null;
  /** Features that the facts leave open could make the march a higher march. */
  readonly nativeUndecided: boolean;
  readonly model: string | null;
  readonly driver: string | null;
  readonly cuda: string | null;
  /** One entry per kind. A GPU of AMD has its target, `gfx942`, and the class `amd`. */
  readonly gpus: readonly { readonly compute: string | null; readonly class: string }[];
  readonly products: readonly string[];
  /** The fewest and the most GPUs of its hosts. */
  readonly gpuCount: readonly [number, number];
  /** Codes of problems. */
  readonly problems: readonly string[];
  /** The sources of its hosts' CPU features, sorted, without repeats: `/proc/cpuinfo`. */
  readonly cpuSources: readonly string[];
}

export interface ClassMatch {
  readonly cell: string;
  /** `repo:tag@sha256:…`, or the id of an image that only this machine's engine has; null for a planned image. */
  readonly reference: string | null;
  readonly tier: Tier;
  /** null if unknown; false if GPUs stay unused. */
  readonly native: boolean | null;
  /** The worst code that a GPU runs; null for an image without GPU code. */
  readonly gpu: CodeFit | null;
  /** null if unknown. */
  readonly cpu: CpuDistance | null;
  /** Why it comes before the next image. */
  readonly reason: string;
}

export interface NearMiss {
  readonly cell: string;
  readonly reasons: readonly Reason[];
}

/**
 * Says which image of a fleet each class of hosts gets. Throws as `resolveImage` does.
 *
 * @param classes of `classifyHosts`
 */
export function coverClasses(
  fleet: CoverFleet,
  classes: readonly HostClass[],
  options: ResolveImageOptions = {},
): Cover {
  const { from, lock, figures = lock.images } = fleet;
  const resolver = createResolver(lock, options);
  const ranked = classes.map((each) => ({ ...each, ranking: resolver.rank(each.facts) }));
  const covered = ranked.map((each, index) => coverClass(lock, each, `c${index + 1}`, resolver, options));
  const images = useOfImages(lock, ranked, resolver, figures);
  return {
    schemaVersion: coverSchemaVersion,
    fleet: { from, name: lock.name, version: lock.version, repository: lock.repository },
    counts: count(covered, images),
    cost: costOf(Object.keys(lock.images), figures),
    classes: covered,
    images,
  };
}

function coverClass(
  lock: Lock,
  { ranking, ...each }: HostClass & { readonly ranking: Ranking },
  id: string,
  resolver: Resolver,
  options: ResolveImageOptions,
): CoveredClass {
  const { facts, names } = each;
  const winner = ranking.ranked[0];
  const usesGpus = wantsCpu(options) || (winner !== undefined && sideOf(winner.image.requires) !== "cpu");
  const unused = usesGpus ? noVendors : vendorsUnusedBy(lock, ranking.view);
  const unusedGpus = winner !== undefined && unused.size > 0;
  const match = matchOf(lock, facts, ranking, unusedGpus);
  const lacking = match === null || unusedGpus;
  return {
    id,
    hosts: names.length,
    names,
    host: describeClass(each),
    match,
    others: ranking.ranked.slice(1).map(({ cell }) => cell),
    unusedGpus,
    nearest: lacking ? nearestMiss(lock, each, ranking, unused, resolver) : null,
    serve: lacking
      ? serveLacking(facts, ranking.view, lock, { unused, served: match !== null })
      : match.native === true
        ? null
        : serveBy(ranking.view, lock, winner),
  };
}

const noVendors: ReadonlySet<GpuVendor> = new Set();

/** Where no driver drives the GPUs, its absence is to be cured: another image would leave them unused too. */
function serveLacking(
  facts: HostFacts,
  view: HostView,
  lock: Lock,
  { unused, served }: { readonly unused: ReadonlySet<GpuVendor>; readonly served: boolean },
): string | null {
  const idle = unused.size > 0 && unusedBy(lock, view).length === 0;
  if (!idle) return cellFor(view, lock);
  const [cause] = [...unused].flatMap((vendor) => causeOf(vendor, facts.problems) ?? []);
  if (cause?.fix === undefined) return served ? null : cellFor(view, lock);
  return `${cause.code}: ${cause.fix}`;
}

/** An image that ignores its march must be compiled for the march: another cell of that march would be the same. */
function serveBy(view: HostView, lock: Lock, winner: Ranking["ranked"][number] | undefined): string | null {
  if (winner === undefined || !ignoresMarch(winner.image)) return cellFor(view, lock);
  return `compile ${winner.cell} for its march: its own files use nothing of it`;
}

/** null for a broken host: no image helps before a repair. */
function cellFor(view: HostView, lock: Lock): string | null {
  return view.broken.length > 0 ? null : suggestCell(view, lock);
}

function matchOf(
  lock: Lock,
  facts: HostFacts,
  { ranked, order }: Ranking,
  unusedGpus: boolean,
): ClassMatch | null {
  const [winner, next] = ranked;
  if (winner === undefined) return null;
  const gpu = worstCode(winner.fit);
  const cpu = cpuDistanceFrom(facts)(winner.image);
  return {
    cell: winner.cell,
    reference: isPlanned(winner.image) ? null : immutableReferenceOf(lock, winner.image),
    tier: winner.fit.tier,
    native: unusedGpus ? false : isNative({ cpu, gpu, tier: winner.fit.tier }),
    gpu,
    cpu,
    reason: next === undefined ? "the only image that fits" : explainOrder(order, winner, next),
  };
}

function nearestMiss(
  lock: Lock,
  { names: [name = "a host"] }: HostClass,
  { ranked, rejected, view }: Ranking,
  unused: ReadonlySet<GpuVendor>,
  resolver: Resolver,
): NearMiss | null {
  const own = imagesOf(unused, lock, rejected);
  const nearest = resolver.nearest(view, own.length > 0 || ranked.length > 0 ? own : rejected);
  if (nearest === null) return null;
  const { cell, misfits } = nearest;
  return { cell, reasons: namedReasons(misfits, name, cell) };
}

interface SideDescription extends Pick<ClassDescription, "gpus" | "driver"> {
  readonly cudaVersion?: string | null;
}

const describeSide: Readonly<Record<GpuVendor, (facts: HostFacts) => SideDescription>> = {
  nvidia: ({ nvidia }) => ({
    gpus: nvidia?.gpus.map(({ compute, class: kind }) => ({ compute, class: kind })) ?? [],
    driver: nvidia?.driver ?? null,
    cudaVersion: nvidia?.cuda ?? null,
  }),
  amd: ({ amd }) => ({
    gpus: amdGpusOf(amd ?? { gpus: [] }).judged.map(({ target }) => ({ compute: target, class: "amd" })),
    driver: amd?.driver == null ? null : `amdgpu ${amd.driver}`,
  }),
};

function describeClass({ facts, products, gpuCount, cpuSources }: HostClass): ClassDescription {
  const { platform, cpu, problems } = facts;
  const sides = gpuVendors.map((vendor) => describeSide[vendor](facts));
  const gpus = sides.flatMap((side) => side.gpus);
  const [driver = null] = sides.flatMap((side) => side.driver ?? []);
  const [cudaVersion = null] = sides.flatMap((side) => side.cudaVersion ?? []);
  const native = nativeMarch(facts);
  return {
    platform,
    level: cpu.level,
    nativeMarch: native?.march.name ?? null,
    nativeUndecided: native?.isUndecided ?? false,
    model: cpu.model,
    driver,
    cuda: cudaVersion,
    gpus: [...new Map(gpus.map((gpu) => [JSON.stringify(gpu), gpu])).values()],
    products,
    gpuCount,
    problems: problems.map(({ code }) => code),
    cpuSources,
  };
}

function count(classes: readonly CoveredClass[], images: readonly CoveredImage[]): CoverCounts {
  const hostsWhere = (holds: (each: CoveredClass) => boolean) => hostsOf(classes.filter(holds));
  return {
    hosts: hostsOf(classes),
    classes: classes.length,
    images: images.length,
    served: hostsWhere(({ match }) => match !== null),
    native: hostsWhere(({ match }) => match?.native === true),
    unserved: hostsWhere(({ match }) => match === null),
    unusedGpus: hostsWhere(({ unusedGpus }) => unusedGpus),
    unusedImages: images.filter(isUnused).length,
    pinnedImages: images.filter((image) => image.hosts === 0 && !isUnused(image)).length,
  };
}
