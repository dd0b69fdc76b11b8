/**
 * Terms of a fleet as constraints on a Nomad node's metadata. Source: hashicorp/nomad 1.10.0, scheduler/feasible.go,
 * checkConstraint and checkOrder (numbers compare as such since 1.4.0).
 */

import { keys, vocabularyVersions } from "../labels/vocabulary.ts";
import { labelNames } from "../node-labels.ts";
import type { Term } from "./fleet.ts";
import type { Condition } from "./conditions.ts";

export interface NomadConstraint {
  readonly [key: string]: string;
  readonly LTarget: string;
  readonly Operand: string;
  readonly RTarget: string;
}

/** All of these hold. `<` and `>=` compare whole numbers as such where both sides are. */
export function nodeConstraints(term: Term): readonly NomadConstraint[] {
  return [
    ...describedNode,
    ...term.map(({ condition, holds }) => ({
      LTarget: metaOf(condition.key),
      ...operandOf(condition, holds),
    })),
  ];
}

function operandOf(condition: Condition, holds: boolean): Pick<NomadConstraint, "Operand" | "RTarget"> {
  switch (condition.kind) {
    case "exists":
      return { Operand: holds ? "is_set" : "is_not_set", RTarget: "" };
    case "is":
      // `!=` holds where the key is absent too, as NotIn does.
      return { Operand: holds ? "=" : "!=", RTarget: condition.value };
    case "atLeast":
      return { Operand: holds ? ">=" : "<", RTarget: String(condition.number) };
  }
}

export function metaOf(key: string): string {
  return `\${meta.${labelNames.nomad(key)}}`;
}

/** A node of newer words, or of none, may be anything. */
const describedNode: readonly NomadConstraint[] = [
  {
    LTarget: metaOf(keys.vocabulary),
    Operand: "set_contains_any",
    RTarget: vocabularyVersions.join(","),
  },
];
