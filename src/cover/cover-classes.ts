/** Hosts × images: which image each host class gets and how good it is, who gets none, and which images nobody needs. */

import type { GpuVendor } from "../hardware/requirement.ts";
import type { HostFacts } from "../host/facts.ts";
import type { NamedHost } from "../host/read-hosts.ts";
import type { Lock } from "../lock/lock.ts";
import { amdGpusOf } from "../resolve/amd-view.ts";
import { viewHost } from "../resolve/host-view.ts";
import { type ResolveImageOptions, wantsCpu } from "../resolve/resolve-options.ts";
import { explainOrder } from "../resolve/rank.ts";
import { immutableReferenceOf, type Ranking } from "../resolve/resolve-image.ts";
import { createResolver, type Resolver } from "../resolve/resolver.ts";
import { ignoresMarch } from "../lock/needed-requirement.ts";
import { suggestCell } from "../resolve/suggest-cell.ts";
import { sideOf } from "../resolve/rules/gpu-side.ts";
import { imagesOf, unusedBy } from "../resolve/unasked.ts";
import type { CodeFit, ReasonCode, Tier } from "../resolve/verdict.ts";
import { costOf, type Figures, type FleetCost } from "./fleet-cost.ts";
import { classifyHosts, type HostClass } from "./host-classes.ts";
import { type CoveredImage, hostsOf, isUnused, namedReasons, useOfImages } from "./image-use.ts";
import { cpuDistanceFrom, isNative, nativeMarch, type CpuDistance, worstCode } from "./native-distance.ts";
import { isPlanned } from "./planned-image.ts";

const coverSchemaVersion = 1;

/** A fleet that is there, or one that would be. */
export interface CoverFleet {
  /** `plan`: of a matrix, whose images are not built yet. */
  readonly from: "lock" | "index" | "plan";
  readonly lock: Lock;
  /** The known figures of images that `lock` plans; the default is `lock` itself. */
  readonly figures?: Figures;
}

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
  /** Of all its images. */
  readonly cost: FleetCost;
  /** The largest first. */
  readonly classes: readonly CoveredClass[];
  /** In the order of their cells. */
  readonly images: readonly CoveredImage[];
}

/** Hosts, not classes, where nothing else is said. */
export interface CoverCounts {
  readonly hosts: number;
  readonly classes: number;
  readonly images: number;
  readonly served: number;
  /** That get code made for just these GPUs and this CPU. */
  readonly native: number;
  readonly unserved: number;
  /** With GPUs under a driver, and an image without GPU code. */
  readonly unusedGpus: number;
  /** Images that no host gets, whatever is pinned. */
  readonly unusedImages: number;
  /** Images that hosts get only where their free axes are pinned. */
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
  /** GPUs under a driver, and an image without GPU code. */
  readonly unusedGpus: boolean;
  /**
   * The image that misses by the least, with GPU code if the class leaves its GPUs unused. Only for such a class, or one that gets nothing.
   */
  readonly nearest: NearMiss | null;
  /** The cell that would serve it, as far as facts tell. Only for a class that gets nothing, leaves GPUs unused, or gets no native code. */
  readonly serve: string | null;
}

export interface ClassDescription {
  readonly platform: string;
  readonly level: string | null;
  /** Of the CPU's own maker, or generic; null where the facts or the tables do not tell. */
  readonly nativeMarch: string | null;
  /** Whether features that the facts leave open could make it a higher one. */
  readonly nativeOpen: boolean;
  readonly model: string | null;
  readonly driver: string | null;
  readonly cuda: string | null;
  /** One entry per kind; of AMD's GPUs the target, `gfx942`, and the class `amd`. */
  readonly gpus: readonly { readonly compute: string | null; readonly class: string }[];
  readonly products: readonly string[];
  /** The fewest and the most GPUs of its hosts. */
  readonly gpuCount: readonly [number, number];
  /** Codes. */
  readonly problems: readonly string[];
  /** The sources of its hosts' CPU features, sorted, without repeats: `/proc/cpuinfo`. */
  readonly cpuSources: readonly string[];
}

export interface ClassMatch {
  readonly cell: string;
  /** `repo:tag@sha256:…`, or the id of an image that only an engine of this machine has; null for one that is not built yet. */
  readonly reference: string | null;
  readonly tier: Tier;
  /** null where it cannot be told; false where GPUs stay without work. */
  readonly native: boolean | null;
  /** The worst code that a GPU runs; null for an image without GPU code. */
  readonly gpu: CodeFit | null;
  /** null where it cannot be told. */
  readonly cpu: CpuDistance | null;
  /** Why it beat the next one, in words. */
  readonly reason: string;
}

export interface NearMiss {
  readonly cell: string;
  readonly reasons: readonly { readonly code: ReasonCode; readonly message: string; readonly fix: string }[];
}

/**
 * Says which image of a fleet each class of hosts gets. Throws as `resolveImage` does.
 *
 * @param classes of {@link classifyHosts}, where several fleets are compared by the same classes
 * @example
 * const { counts, classes } = coverFleet({ from: "lock", lock }, await readHosts(text, "nodes.json"));
 */
export function coverFleet(
  fleet: CoverFleet,
  hosts: readonly NamedHost[],
  options: ResolveImageOptions = {},
): Cover {
  return coverClasses(fleet, classifyHosts(hosts, [fleet.lock]), options);
}

/** {@link coverFleet} of hosts that are classified already. */
export function coverClasses(
  fleet: CoverFleet,
  classes: readonly HostClass[],
  options: ResolveImageOptions = {},
): Cover {
  const { from, lock, figures = lock.images } = fleet;
  const resolver = createResolver(lock, options);
  const ranked = classes.map((each) => ({ ...each, ranking: resolver.rank(each.facts) }));
  const covered = ranked.map((each, index) => coverClass(lock, each, `c${index + 1}`, resolver, options));
  const images = useOfImages(lock, ranked);
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
  const isPlain = winner !== undefined && sideOf(winner.image.requires) === "cpu" && !wantsCpu(options);
  const unused = new Set(isPlain ? unusedBy(lock, facts).map(({ vendor }) => vendor) : []);
  const unusedGpus = unused.size > 0;
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
    serve: lacking || match.native !== true ? serveBy(facts, lock, lacking ? undefined : winner) : null,
  };
}

/** Another cell of the same march would come out the same. */
function serveBy(facts: HostFacts, lock: Lock, winner: Ranking["ranked"][number] | undefined): string | null {
  if (winner === undefined || !ignoresMarch(winner.image)) return cellFor(facts, lock);
  return `compile ${winner.cell} for its march: its own files use nothing of it`;
}

/** A broken host wants a repair, and no other image. */
function cellFor(facts: HostFacts, lock: Lock): string | null {
  const view = viewHost(facts);
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
  { facts, names: [name = "a host"] }: HostClass,
  { rejected }: Ranking,
  unused: ReadonlySet<GpuVendor>,
  resolver: Resolver,
): NearMiss | null {
  const asked = unused.size > 0 ? imagesOf(unused, lock, rejected) : rejected;
  const nearest = resolver.nearest(facts, asked);
  if (nearest === null) return null;
  const { cell, misfits } = nearest;
  return { cell, reasons: namedReasons(misfits, name, cell) };
}

function describeClass({ facts, products, gpuCount, cpuSources }: HostClass): ClassDescription {
  const { platform, cpu, nvidia, amd, problems } = facts;
  const gpus = [
    ...(nvidia?.gpus.map((gpu) => ({ compute: gpu.compute, class: gpu.class })) ?? []),
    ...amdGpusOf(amd ?? { gpus: [] }).judged.map(({ target }) => ({ compute: target, class: "amd" })),
  ];
  const native = nativeMarch(facts);
  return {
    platform,
    level: cpu.level,
    nativeMarch: native?.march.name ?? null,
    nativeOpen: native?.open ?? false,
    model: cpu.model,
    driver: nvidia?.driver ?? (amd?.driver == null ? null : `amdgpu ${amd.driver}`),
    cuda: nvidia?.cuda ?? null,
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
