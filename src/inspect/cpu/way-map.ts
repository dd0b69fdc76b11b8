/** Keeps which states of the ways through a program lead to which, and tells the states from which every way ends the program. */

import type { End } from "./way-parts.ts";
import type { Node } from "./way-states.ts";

export type WayMap = ReturnType<typeof wayMap>;

/** The key of a state is the name here. A key begins with the place of the state, and the places of the callers. */
export function wayMap() {
  const [next, before] = [new Map<string, Set<string>>(), new Map<string, Set<string>>()];
  const ended = new Map<End, Set<string>>();
  const left = new Map<Node, string>();
  const places = new Map<string, string>();
  /** The states themselves, and those from which some way leads to them. */
  const leadingTo = (keys: readonly string[]): ReadonlySet<string> => {
    const found = new Set(keys);
    for (const key of found) for (const each of before.get(key) ?? []) found.add(each);
    return found;
  };
  const endingBy = (...ends: readonly End[]) => ends.flatMap((end) => [...(ended.get(end) ?? [])]);
  const placeOf = (key: string) => places.get(key) ?? "";
  const sideOf = (from: string, to: string) => `${placeOf(from)}>${placeOf(to)}`;
  return {
    /** A way goes on later from the node, which comes from a state. */
    enter: (node: Node, from: string) => left.set(node, from),
    /** The state from which the node comes; null for the first one. */
    leave: (node: Node): string | null => left.get(node) ?? null,
    /** null is the start. */
    lead(from: string | null, to: string): void {
      if (!places.has(to)) places.set(to, to.slice(0, to.indexOf(" ")));
      if (from === null) return;
      add(next, from, to);
      add(before, to, from);
    },
    end: (key: string | null, end: End) => key !== null && add(ended, end, key),
    /** The places in which ways met. */
    places: (): ReadonlySet<string> => new Set(places.values()),
    /** The sides of branches. */
    sides: (): ReadonlySet<string> =>
      new Set([...next].flatMap(([from, to]) => [...to].map((each) => sideOf(from, each)))),
    /** The pairs of sides of which one leads to a refusal alone, and the other to more. */
    refusals(): readonly (readonly [refusing: string, passing: string])[] {
      const [passing, refusing] = [leadingTo(endingBy("passed")), leadingTo(endingBy("refused"))];
      return [...next].flatMap(([from, sides]) => {
        const [one, other, another] = sides;
        if (one === undefined || other === undefined || another !== undefined) return [];
        if (passing.has(one) === passing.has(other)) return [];
        const [bad, good] = passing.has(one) ? [other, one] : [one, other];
        return refusing.has(bad) ? [[sideOf(from, bad), sideOf(from, good)] as const] : [];
      });
    },
    /** True if from some state in a place that is not among `known` every way ends the program; where `mayJoin` is false, and in no place that is. */
    refuses(known: ReadonlySet<string>, mayJoin: boolean): boolean {
      const joining = mayJoin ? [] : [...places].flatMap(([key, place]) => (known.has(place) ? [key] : []));
      const passing = leadingTo([...endingBy("passed"), ...joining]);
      const ending = leadingTo(endingBy("refused", "thrown"));
      return [...places].some(([key, place]) => !known.has(place) && ending.has(key) && !passing.has(key));
    },
  };
}

function add<Key>(to: Map<Key, Set<string>>, key: Key, value: string): void {
  const values = to.get(key);
  if (values === undefined) to.set(key, new Set([value]));
  else values.add(value);
}
