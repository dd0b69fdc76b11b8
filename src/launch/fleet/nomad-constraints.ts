/**
 * Terms of a fleet as constraints on a Nomad node's metadata. Source: hashicorp/nomad 1.10.0, scheduler/feasible.go,
 * checkConstraint and checkOrder (numbers compare as such since 1.4.0).
 */

import { keys, vocabularyVersions } from "../labels/vocabulary.ts";
import { labelNames } from "../node-labels.ts";
import type { Term } from "./fleet.ts";
import type { Word } from "./words.ts";

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
    ...term.map(({ word, holds }) => ({ LTarget: metaOf(word.key), ...condition(word, holds) })),
  ];
}

function condition(word: Word, holds: boolean): Pick<NomadConstraint, "Operand" | "RTarget"> {
  switch (word.kind) {
    case "exists":
      return { Operand: holds ? "is_set" : "is_not_set", RTarget: "" };
    case "is":
      // `!=` holds where the key is absent too, as NotIn does.
      return { Operand: holds ? "=" : "!=", RTarget: word.value };
    case "atLeast":
      return { Operand: holds ? ">=" : "<", RTarget: String(word.number) };
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
