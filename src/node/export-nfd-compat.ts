/**
 * Node Feature Discovery's image-compatibility specification: what each image of a lock needs, to be attached to it in the registry.
 * NFD knows neither marches nor NVIDIA drivers, so its rules read the feature file of `imgmatch labels --format nfd`.
 *
 * Source: kubernetes-sigs/node-feature-discovery v0.19.0, docs/usage/image-compatibility.md and custom-resources.md
 * (NodeFeatureRule), pkg/apis/nfd/nodefeaturerule (what each operator means). `nfd compat validate-node` has the local source
 * from v0.18 on, where the program also exports labels; to that of v0.17 `local.label` is a feature that is not available.
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
  asked: NfdCompatOptions = {},
  given?: Partial<World>,
): Promise<NfdCompatAnswer> {
  const lock = selectImages(await readLock(lockFileOf(asked)), asked.only ?? []);
  const { images, left } = nfdCompatSpecs(lock);
  note(
    worldOf(asked, given),
    left.map(
      (cell) =>
        `left out: ${cell} is not built, or no node can run it, or it is for AMD, whose targets no label says`,
    ),
  );
  return { schemaVersion: 1, images };
}

/** For `oras attach --artifact-type`. */
const nfdCompatArtifactType = "application/vnd.nfd.image-compatibility.v1alpha1";

export interface NfdCompatSpecs {
  /** By cell. */
  readonly images: readonly {
    readonly reference: string;
    readonly artifactType: string;
    readonly spec: Json;
  }[];
  /** Cells that are not built, those that no node can run, and those for AMD: no label says which code a GPU of it runs. */
  readonly left: readonly string[];
}

/**
 * The specification of every image of a lock.
 *
 * @example
 * for (const { reference, spec } of nfdCompatSpecs(lock).images) console.log(reference, JSON.stringify(spec));
 */
export function nfdCompatSpecs(lock: Lock): NfdCompatSpecs {
  const all = sortedEntries(lock.images).map(([cell, image]) => ({
    cell,
    reference: referenceOf(lock, image),
    spec: nfdCompatSpec(lock, cell, image),
  }));
  return {
    images: all.flatMap(({ reference, spec }) =>
      spec === null ? [] : [{ reference, artifactType: nfdCompatArtifactType, spec }],
    ),
    left: all.filter(({ spec }) => spec === null).map(({ cell }) => cell),
  };
}

/** null for an image that was never built, for one that no node can run, and for one with code for AMD. */
export function nfdCompatSpec(lock: Lock, cell: string, image: LockedImage): Json | null {
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

/** The words are those of Kubernetes, but an absent feature matches nothing but DoesNotExist: "none of these" is "another" or "absent". */
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

/** Of one label there is one expression: `Gt` and `Lt` together are `GtLt`. */
function expressions(parts: readonly NodeSelectorRequirement[]): readonly Json[] {
  const op = parts.map(({ operator }) => operator).join("");
  const value = parts.flatMap(({ values = [] }) => values);
  const expression = value.length === 0 ? { op } : { op, value };
  return op === "NotIn" ? [expression, { op: "DoesNotExist" }] : [expression];
}
