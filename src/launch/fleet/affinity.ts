/** Terms of a fleet as node affinity. Source: Kubernetes API reference, NodeSelectorTerm and NodeSelectorRequirement. */

import type { NodeSelectorRequirement, NodeSelectorTerm } from "kubernetes-types/core/v1.js";
import { keys, vocabularyVersions } from "../labels/vocabulary.ts";
import { labelNames } from "../node-labels.ts";
import { byKey, numbersOf, type Term, valuesOf } from "./fleet.ts";

/** Alternatives, as Kubernetes reads a list of terms; all expressions of one must hold. */
export function nodeSelectorTerms(terms: readonly Term[]): readonly NodeSelectorTerm[] {
  const ofKey = ([key, parts]: readonly [string, Term]) => forKey(labelNames.kubernetes(key), parts);
  return terms.map((term) => ({ matchExpressions: [describedNode, ...[...byKey(term)].flatMap(ofKey)] }));
}

/** A node of newer words, or of none, may be anything: nothing is scheduled to it on a guess. */
const describedNode: NodeSelectorRequirement = {
  key: labelNames.kubernetes(keys.vocabulary),
  operator: "In",
  values: [...vocabularyVersions],
};

function forKey(key: string, parts: Term): readonly NodeSelectorRequirement[] {
  const present = parts.filter(({ condition }) => condition.kind === "exists");
  const [is, isNot] = [valuesOf(parts, true), valuesOf(parts, false)];
  const [atLeast, below] = [numbersOf(parts, true), numbersOf(parts, false)];
  return [
    ...present.map(({ holds }) => ({ key, operator: holds ? "Exists" : "DoesNotExist" })),
    ...(is.length === 0 ? [] : [{ key, operator: "In", values: is }]),
    ...(isNot.length === 0 ? [] : [{ key, operator: "NotIn", values: isNot }]),
    // Gt and Lt leave the number itself out.
    ...(atLeast.length === 0 ? [] : [{ key, operator: "Gt", values: [String(Math.max(...atLeast) - 1)] }]),
    ...(below.length === 0 ? [] : [{ key, operator: "Lt", values: [String(Math.min(...below))] }]),
  ];
}
