/** A function as alternatives of which exactly one holds: the ways through its diagram. */

import { remember } from "../../../oci/remember.ts";
import type { Diagrams } from "./diagrams.ts";
import type { Logic } from "./logic.ts";
import { rememberPair } from "./memory.ts";
import { always, type Cube, type Node, never, withTest } from "./node.ts";

/** null when there are more than `most`; `care` says where it matters. */
export function createDisjoint(
  diagrams: Diagrams,
  logic: Logic,
): (node: Node, care: Node, most: number) => readonly Cube[] | null {
  const restrict = createRestrict(diagrams, logic);
  return (node, care, most) => {
    const simple = restrict(node, care);
    return countPaths(diagrams, simple, new Map()) > most ? null : paths(diagrams, simple);
  };
}

/** Drops tests that tell nothing where `care` holds (O. Coudert, J. C. Madre, "restrict", 1990). */
function createRestrict({ test, low, high, make }: Diagrams, { or }: Logic) {
  const restricted = new Map<Node, Map<Node, Node>>();

  function restrict(node: Node, care: Node): Node {
    if (care === never) return never;
    if (care === always || node === never || node === always) return node;
    return rememberPair(restricted, node, care, () => divided(node, care));
  }

  function divided(node: Node, care: Node): Node {
    const variable = Math.min(test(node), test(care));
    const [care0, care1] = [low(care, variable), high(care, variable)];
    if (test(node) !== variable) return restrict(node, or(care0, care1));
    const [no, yes] = [low(node, variable), high(node, variable)];
    if (care0 === never) return restrict(yes, care1);
    if (care1 === never) return restrict(no, care0);
    return make(variable, restrict(no, care0), restrict(yes, care1));
  }

  return restrict;
}

function countPaths(diagrams: Diagrams, node: Node, counts: Map<Node, number>): number {
  if (node === never || node === always) return node;
  return remember(counts, node, () => {
    const variable = diagrams.test(node);
    const [no, yes] = [diagrams.low(node, variable), diagrams.high(node, variable)];
    return countPaths(diagrams, no, counts) + countPaths(diagrams, yes, counts);
  });
}

function paths(diagrams: Diagrams, node: Node): readonly Cube[] {
  if (node === never) return [];
  if (node === always) return [[]];
  const variable = diagrams.test(node);
  return [
    ...paths(diagrams, diagrams.low(node, variable)).map(withTest(variable, false)),
    ...paths(diagrams, diagrams.high(node, variable)).map(withTest(variable, true)),
  ];
}
