/**
 * Node Feature Discovery's image-compatibility specification: what an image needs, to be attached to it in the registry.
 * NFD knows neither marches nor NVIDIA drivers, so its rules read the feature file of `imgmatch labels --format nfd`.
 *
 * Source: kubernetes-sigs/node-feature-discovery v0.19.0, docs/usage/image-compatibility.md and custom-resources.md
 * (NodeFeatureRule), pkg/apis/nfd/nodefeaturerule (what each operator means). `nfd compat validate-node` has the local source
 * from v0.18 on, where the program also exports labels; to that of v0.17 `local.label` is a feature that is not available.
 */

import type { Lock, LockedImage } from "../lock/lock.ts";
import { sortedEntries } from "../oci/text-order.ts";
import { referenceOf } from "../resolve/resolve.ts";
import { byKey, numbersOf, splitNodes, type Term, valuesOf } from "./fleet/fleet.ts";
import { keys, vocabularyVersions } from "./labels/vocabulary.ts";
import { labelNames } from "./node-labels.ts";
import type { Json } from "./target.ts";

/** For `oras attach --artifact-type`. */
const nfdCompatArtifactType = "application/vnd.nfd.image-compatibility.v1alpha1";

export interface NfdCompatSpecs {
  /** By cell. */
  readonly images: readonly {
    readonly reference: string;
    readonly artifactType: string;
    readonly spec: Json;
  }[];
  /** Cells that are not built, and those that no node can run. */
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

/** null for an image that was never built, and for one that no node can run. */
export function nfdCompatSpec(lock: Lock, cell: string, image: LockedImage): Json | null {
  const cpuOnly = image.requires.cuda === null;
  const [member] = splitNodes({ ...lock, images: { [cell]: image } }, { cpuOnly }).members;
  if (member === undefined) return null;
  return {
    version: "v1alpha1",
    compatibilities: [
      {
        description: `${lock.name} ${cell}`,
        tag: image.tag,
        rules: [{ name: "imgmatch", matchAny: member.terms.flatMap(alternatives).map(matcher) }],
      },
    ],
  };
}

interface Expression {
  readonly op: string;
  readonly value?: readonly string[];
}

/** An absent feature matches nothing but DoesNotExist there, so "none of these" is "another" or "absent". */
function alternatives(term: Term): readonly (readonly [string, Expression][])[] {
  const described: [string, Expression] = [keys.vocabulary, { op: "In", value: vocabularyVersions }];
  let all: (readonly [string, Expression][])[] = [[described]];
  for (const [key, parts] of byKey(term)) {
    const choices = expressions(parts);
    all = all.flatMap((before) =>
      choices.map((choice) => [...before, [key, choice] as [string, Expression]]),
    );
  }
  return all;
}

function expressions(parts: Term): readonly Expression[] {
  const is = valuesOf(parts, true);
  if (is.length > 0) return [{ op: "In", value: is }];
  const isNot = valuesOf(parts, false);
  if (isNot.length > 0) return [{ op: "NotIn", value: isNot }, { op: "DoesNotExist" }];
  const [low, high] = [Math.max(...numbersOf(parts, true)) - 1, Math.min(...numbersOf(parts, false))];
  if (Number.isFinite(low) && Number.isFinite(high))
    return [{ op: "GtLt", value: [String(low), String(high)] }];
  if (Number.isFinite(low)) return [{ op: "Gt", value: [String(low)] }];
  if (Number.isFinite(high)) return [{ op: "Lt", value: [String(high)] }];
  return [{ op: parts.every(({ holds }) => holds) ? "Exists" : "DoesNotExist" }];
}

function matcher(expressionsOfAll: readonly (readonly [string, Expression])[]): Json {
  const matchExpressions = Object.fromEntries(
    expressionsOfAll.map(([key, { op, value }]) => [
      labelNames.kubernetes(key),
      value === undefined ? { op } : { op, value },
    ]),
  );
  return { matchFeatures: [{ feature: "local.label", matchExpressions }] };
}
