/**
 * `imgmatch export nfd-compat`: Node Feature Discovery's specification of the needs of each image, to be attached to the image in the
 * registry. NFD knows neither marches nor NVIDIA drivers, so its rules read the feature file of `imgmatch labels --format nfd`.
 *
 * Source: kubernetes-sigs/node-feature-discovery v0.19.0, docs/usage/image-compatibility.md and custom-resources.md
 * (NodeFeatureRule), pkg/apis/nfd/nodefeaturerule (the operators). `nfd compat validate-node` reads the local source since v0.18: v0.17
 * does not know `local.label`.
 */

import type { NodeSelectorRequirement, NodeSelectorTerm } from "kubernetes-types/core/v1.js";
import { selectImages } from "../fleet/cells/select.ts";
import { type FleetChoice, lockFileOf } from "../fleet/open/fleet-choice.ts";
import { hasGpuCode, vendorsOf } from "../hardware/requirement.ts";
import { groupBy, sortedEntries } from "../io/collections.ts";
import { note, type Watching, type World, worldOf } from "../io/world.ts";
import type { Lock, LockedImage } from "../lock/lock.ts";
import { readLock } from "../lock/lock-file.ts";
import { referenceOf } from "../resolve/resolve-image.ts";
import { splitNodes } from "./launch/fleet/split-nodes.ts";
import type { Json } from "./launch/target.ts";
import { nodeSelectorTerms } from "./launch/targets/kubernetes.ts";

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
export async function exportNfdCompat(
  options: NfdCompatOptions = {},
  given?: Partial<World>,
): Promise<NfdCompatAnswer> {
  const lock = selectImages(await readLock(lockFileOf(options)), options.only ?? []);
  const { images, left } = nfdCompatSpecs(lock);
  note(
    worldOf(options, given),
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
  /** Cells that are not built, that no node can run, or that are for AMD: no label tells the target of an AMD GPU. */
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

/** null for an image of {@link NfdCompatSpecs.left}. */
function specOf(lock: Lock, cell: string, image: LockedImage): Json | null {
  if (vendorsOf(image.requires).includes("amd")) return null;
  const cpuOnly = !hasGpuCode(image.requires);
  const [member] = splitNodes({ ...lock, images: { [cell]: image } }, { cpuOnly }).members;
  if (member === undefined) return null;
  return {
    version: "v1alpha1",
    compatibilities: [
      {
        description: `${lock.name} ${cell}`,
        tag: image.tag,
        rules: [{ name: "imgmatch", matchAny: nodeSelectorTerms(member.terms).flatMap(alternatives) }],
      },
    ],
  };
}

/** Rules are Kubernetes' terms, but an absent feature matches only DoesNotExist: a NotIn needs that as an alternative. */
function alternatives({ matchExpressions = [] }: NodeSelectorTerm): readonly Json[] {
  let all: readonly (readonly (readonly [string, Json])[])[] = [[]];
  for (const [key, parts] of groupBy(matchExpressions, (each) => each.key)) {
    const choices = expressions(parts);
    all = all.flatMap((before) => choices.map((choice) => [...before, [key, choice] as const]));
  }
  return all.map((each) => ({
    matchFeatures: [{ feature: "local.label", matchExpressions: Object.fromEntries(each) }],
  }));
}

/** The alternatives of one label. A rule has one expression for a label: `Gt` and `Lt` together are `GtLt`. */
function expressions(parts: readonly NodeSelectorRequirement[]): readonly Json[] {
  const op = parts.map(({ operator }) => operator).join("");
  const value = parts.flatMap(({ values = [] }) => values);
  const expression = value.length === 0 ? { op } : { op, value };
  return op === "NotIn" ? [expression, { op: "DoesNotExist" }] : [expression];
}
