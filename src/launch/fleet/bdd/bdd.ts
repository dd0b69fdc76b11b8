/**
 * Reduced ordered binary decision diagrams: exact boolean functions, equal when their numbers are. With them "this image
 * fits and no better one does" is computed, and written out again as few alternatives.
 *
 * Sources: R. E. Bryant, "Graph-Based Algorithms for Boolean Function Manipulation" (1986); S. Minato, "Fast Generation of
 * Irredundant Sum-of-Products Forms from Binary Decision Diagrams" (1992).
 */

import { createCover } from "./cover.ts";
import { createDiagrams } from "./diagrams.ts";
import { createDisjoint } from "./disjoint.ts";
import { createLogic, type Logic } from "./logic.ts";
import { always, type Cube, type Node, never } from "./node.ts";

export interface Bdd extends Logic {
  /** The variable itself; they are tested in the order of their numbers. */
  readonly variable: (index: number) => Node;
  /**
   * Few alternatives whose union holds wherever `lower` does and nowhere that `upper` does not: what lies between them
   * does not matter. They may overlap. Throws `LAUNCH_UNSUPPORTED` when they are too many to be of use.
   */
  readonly cover: (lower: Node, upper: Node) => readonly Cube[];
  /**
   * Alternatives of which exactly one holds wherever `node` does; `care` says where it matters. They may be very many: null
   * when there are more than `most`.
   */
  readonly disjoint: (node: Node, care: Node, most: number) => readonly Cube[] | null;
}

export function createBdd(): Bdd {
  const diagrams = createDiagrams();
  const logic = createLogic(diagrams);
  return {
    ...logic,
    variable: (index) => diagrams.make(index, never, always),
    cover: createCover(diagrams, logic),
    disjoint: createDisjoint(diagrams, logic),
  };
}
