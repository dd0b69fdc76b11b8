/**
 * `imgmatch export nfd-compat`: Node Feature Discovery's specification of the needs of each image, to be attached to the image in the
 * registry. NFD knows neither marches nor NVIDIA drivers, so its rules read the feature file of `imgmatch labels --format nfd`. They say where
 * an image runs; which of several images is the best is not NFD's to say, and neither is what a container runtime checks.
 *
 * Source: kubernetes-sigs/node-feature-discovery v0.19.0, docs/usage/image-compatibility.md and custom-resources.md
 * (NodeFeatureRule), pkg/apis/nfd/nodefeaturerule (the operators). `nfd compat validate-node` reads the local source since v0.18: v0.17
 * does not know `local.label`.
 */

import { selectImages } from "../fleet/cells/select.ts";
import { type FleetChoice, lockFileOf } from "../fleet/open/fleet-choice.ts";
import { parseVersion } from "../hardware/driver-version.ts";
import { needsGpus, vendorsOf } from "../lock/requirement.ts";
import type { GpuVendor } from "../hardware/gpu-vendors.ts";
import { sortedEntries } from "../io/collections.ts";
import { inWorld, note, type Watching, type World } from "../io/world.ts";
import { alternativesOf } from "../lock/alternatives.ts";
import type { Lock, LockedImage } from "../lock/lock.ts";
import { readLock } from "../lock/store/lock-file.ts";
import { neededRequirement } from "../lock/needed-requirement.ts";
import { normalizePlatform } from "../lock/lock.ts";
import { referenceOf } from "../resolve/resolve-image.ts";
import { type ServedGpus, servedDevices } from "./launch/fleet/served-devices.ts";
import {
  keys,
  knownComputes,
  labelledFeatures,
  labelNames,
  platformValue,
  unknownValue,
  versionNumber,
} from "./launch/labels/vocabulary.ts";
import type { Json } from "./launch/target.ts";

export interface NfdCompatOptions extends Pick<FleetChoice, "matrix" | "lock" | "only">, Watching {}

export interface NfdCompatAnswer extends Pick<NfdCompatSpecs, "images"> {
  readonly schemaVersion: 1;
}

/**
 * Writes Node Feature Discovery's image-compatibility specification of each image. Throws `LOCK_…`, and `USAGE` for an empty selection.
 *
 * @example
 * const { images } = await exportNfdCompat({ lock: "images/imgmatch.lock.json" });
 */
export type ExportNfdCompatFunction = (
  options?: NfdCompatOptions,
  world?: Partial<World>,
) => Promise<NfdCompatAnswer>;

export async function exportNfdCompat(
  options: NfdCompatOptions = {},
  given?: Partial<World>,
): Promise<NfdCompatAnswer> {
  return inWorld(options, given, (world) => exportNfdCompatIn(options, world));
}

async function exportNfdCompatIn(options: NfdCompatOptions, world: World): Promise<NfdCompatAnswer> {
  const lock = selectImages(await readLock(lockFileOf(options)), options.only ?? []);
  const { images, left } = nfdCompatSpecs(lock);
  note(
    world,
    left.map(
      (cell) =>
        `left out: ${cell} is not built, or no node can run it, or it is for AMD, whose targets no label says`,
    ),
  );
  return { schemaVersion: 1, images };
}

/** For `oras attach --artifact-type`. */
const artifactType = "application/vnd.nfd.image-compatibility.v1alpha1";

export interface NfdCompatSpecs {
  /** By cell. */
  readonly images: readonly {
    readonly reference: string;
    readonly artifactType: string;
    readonly spec: Json;
  }[];
  /** Cells without an image, cells that no node can run, and cells for AMD: no label tells the target of an AMD GPU. */
  readonly left: readonly string[];
}

export function nfdCompatSpecs(lock: Lock): NfdCompatSpecs {
  const images: NfdCompatSpecs["images"][number][] = [];
  const left: string[] = [];
  for (const [cell, image] of sortedEntries(lock.images)) {
    const spec = specOf(lock, cell, image);
    if (spec === null) left.push(cell);
    else images.push({ reference: referenceOf(lock, image), artifactType, spec });
  }
  return { images, left };
}

/** The labels of a node tell which code the vendor's GPUs run. */
const isLabelled: Readonly<Record<GpuVendor, boolean>> = { nvidia: true, amd: false };

/** null for an image of {@link NfdCompatSpecs.left}. */
function specOf(lock: Lock, cell: string, image: LockedImage): Json | null {
  if (image.digest === null || vendorsOf(image.requires).some((vendor) => !isLabelled[vendor])) return null;
  // All GPUs of a node run one alternative.
  const matchAny = alternativesOf(image).flatMap((one) => {
    const serves = servedDevices({ ...lock, images: { [cell]: one } }).get(cell) ?? [];
    const gpus = needsGpus(one.requires) ? gpuNeeds(serves) : [{}];
    return cpuNeeds(one).flatMap((cpu) =>
      gpus.map((gpu) => ({
        matchFeatures: [{ feature: "local.label", matchExpressions: prefixed({ ...cpu, ...gpu }) }],
      })),
    );
  });
  if (matchAny.length === 0) return null;
  return {
    version: "v1alpha1",
    compatibilities: [
      {
        description: `${lock.name} ${cell}`,
        tag: image.tag,
        rules: [{ name: "imgmatch", matchAny }],
      },
    ],
  };
}

/** By label, without its prefix. An absent label matches `DoesNotExist` alone. */
type Needs = Readonly<Record<string, Json>>;

const exists = { op: "Exists" };
const absent = { op: "DoesNotExist" };
const is = (value: string) => ({ op: "In", value: [value] });

/** Platform, kernel and CPU; none where no label tells a feature. */
function cpuNeeds(image: LockedImage): readonly Needs[] {
  const platform = normalizePlatform(image.platform);
  const kernel = image.requires.kernel === undefined ? [] : parseVersion(image.requires.kernel);
  if (kernel === null) return [];
  const host = {
    [keys.platform]: is(platformValue(platform)),
    ...(kernel.length === 0
      ? {}
      : { [keys.kernelNumber]: { op: "Gt", value: [String(versionNumber(kernel) - 1)] } }),
  };
  const { features } = neededRequirement(image).cpu;
  if (!features.every((feature) => labelledFeatures().has(feature))) return [];
  return [{ ...host, ...Object.fromEntries(features.map((feature) => [keys.feature(feature), exists])) }];
}

/** The alternatives in drivers: under each, no GPU that the image has no code for. */
function gpuNeeds(serves: readonly ServedGpus[]): readonly Needs[] {
  const ranges = serves.flatMap(({ kinds, drivers }) => drivers.map((range) => ({ kinds, ...range })));
  const ends = ranges.flatMap(({ from, before }) => [from, before ?? Number.POSITIVE_INFINITY]);
  const bounds = [...new Set(ends)].sort((a, b) => a - b);
  return bounds.flatMap((from, at): readonly Needs[] => {
    const before = bounds[at + 1];
    const kinds = new Set(
      ranges
        .filter((range) => range.from <= from && (range.before ?? Infinity) > from)
        .flatMap((range) => range.kinds),
    );
    if (before === undefined || kinds.size === 0) return [];
    const others = [...knownComputes.flat().filter((kind) => !kinds.has(kind)), unknownValue];
    const driver =
      before === Number.POSITIVE_INFINITY
        ? { op: "Gt", value: [String(from - 1)] }
        : { op: "GtLt", value: [String(from - 1), String(before)] };
    return [
      {
        [keys.vocabulary]: is("1"),
        [keys.gpuUsable]: exists,
        [keys.gpuUnknown]: absent,
        [keys.broken]: absent,
        [keys.driverScale]: is("linux"),
        [keys.driverNumber]: driver,
        ...Object.fromEntries(others.map((kind) => [keys.compute(kind), absent])),
      },
    ];
  });
}

function prefixed(needs: Needs): Needs {
  return Object.fromEntries(Object.entries(needs).map(([key, need]) => [labelNames.kubernetes(key), need]));
}
