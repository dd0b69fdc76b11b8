/** Keeps which states of a way lead to which, and finds the branches whose one side leads to a refusal alone. */

import type { End } from "./way-parts.ts";
import type { Node } from "./way-states.ts";

export type WaySides = ReturnType<typeof waySides>;

/** States are named by their keys, which begin with the places where they and their callers are. */
export function waySides() {
  const next = new Map<string, Set<string>>();
  const before = new Map<string, Set<string>>();
  const ends = new Map<End, Set<string>>();
  const left = new Map<Node, string>();
  const add = <K>(to: Map<K, Set<string>>, key: K, value: string) => {
    const values = to.get(key);
    if (values === undefined) to.set(key, new Set([value]));
    else values.add(value);
  };
  /** The states from which some way leads to the end. */
  function leadingTo(end: End): ReadonlySet<string> {
    const found = new Set(ends.get(end));
    for (const key of found) for (const each of before.get(key) ?? []) found.add(each);
    return found;
  }
  return {
    /** A way goes on later from the node, which comes from a state. */
    enter: (node: Node, from: string) => left.set(node, from),
    /** The state from which the node comes; null for the first one. */
    leave: (node: Node): string | null => left.get(node) ?? null,
    lead(from: string | null, to: string): void {
      if (from === null) return;
      add(next, from, to);
      add(before, to, from);
    },
    end: (key: string | null, end: End) => key !== null && add(ends, end, key),
    /** The sides of branches. */
    sides: (): ReadonlySet<string> =>
      new Set([...next].flatMap(([from, to]) => [...to].map((each) => sideOf(from, each)))),
    /** The pairs of sides of which one leads to a refusal alone, and the other to more. */
    refusals(): readonly (readonly [refusing: string, passing: string])[] {
      const [passing, refusing] = [leadingTo("passed"), leadingTo("refused")];
      return [...next].flatMap(([from, sides]) => {
        const [one, other, another] = sides;
        if (one === undefined || other === undefined || another !== undefined) return [];
        const isRefusal = (side: string) => refusing.has(side) && !passing.has(side);
        if (passing.has(one) === passing.has(other)) return [];
        const [bad, good] = passing.has(one) ? [other, one] : [one, other];
        return isRefusal(bad) ? [[sideOf(from, bad), sideOf(from, good)] as const] : [];
      });
    },
  };
}

const placesIn = (key: string) => key.slice(0, key.indexOf(" "));
const sideOf = (from: string, to: string) => `${placesIn(from)}>${placesIn(to)}`;
