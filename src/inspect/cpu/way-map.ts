/** Remembers which nodes of the ways through a program lead to which, and tells the nodes from which every way ends the program. */

import type { End } from "./way-parts.ts";

export interface WayMap {
  /** The addresses of all instructions on the ways. */
  readonly visited: Set<number>;
  /** The places in which ways met. */
  readonly places: ReadonlySet<string>;
  /** A way leads from a node to a node, which are named by their keys; null is the start. */
  readonly lead: (from: string | null, to: string) => void;
  readonly meet: (node: string, place: string) => void;
  readonly end: (node: string | null, end: End) => void;
  /**
   * True if from some node in a place that is not among `known` every way refuses; where `mayJoin` is false, and in no place that is.
   */
  readonly refuses: (known: ReadonlySet<string>, mayJoin: boolean) => boolean;
}

export function wayMap(visited: Set<number>): WayMap {
  const before = new Map<string, (string | null)[]>();
  const placeOf = new Map<string, string>();
  const ended: Record<End, (string | null)[]> = { passed: [], zero: [], refused: [], thrown: [] };
  const leadingTo = (nodes: readonly (string | null)[]): ReadonlySet<string | null> => {
    const all = new Set(nodes);
    for (const node of all) for (const each of node === null ? [] : (before.get(node) ?? [])) all.add(each);
    return all;
  };
  return {
    visited,
    get places() {
      return new Set(placeOf.values());
    },
    lead(from, to) {
      const all = before.get(to);
      if (all === undefined) before.set(to, [from]);
      else all.push(from);
    },
    meet: (node, place) => placeOf.set(node, place),
    end: (node, end) => ended[end].push(node),
    refuses(known, mayJoin) {
      const joining = mayJoin
        ? []
        : [...placeOf].flatMap(([node, place]) => (known.has(place) ? [node] : []));
      const passing = leadingTo([...ended.passed, ...joining]);
      const ending = leadingTo([...ended.refused, ...ended.thrown]);
      return [...placeOf].some(
        ([node, place]) => !known.has(place) && ending.has(node) && !passing.has(node),
      );
    },
  };
}
