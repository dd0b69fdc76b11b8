/** The part of a count of GPU code that is the same for every vendor. */

import { compareFirst } from "../io/collections.ts";

const maxDamage = 100;

export function createCodeTally() {
  const places = new Map<string, number>();
  const damage: string[] = [];
  let [modules, bytes] = [0, 0];
  return {
    /** A module, and the bytes that it takes up in the file. */
    add(place: string, size: number) {
      modules++;
      bytes += size;
      count(places, place);
    },
    complain(found: readonly string[]) {
      damage.push(...found.slice(0, maxDamage - damage.length));
    },
    /** The modules of a section so far. */
    modulesIn: (place: string) => places.get(place) ?? 0,
    /** With what a vendor counts besides; null when there was nothing at all. */
    result: <More extends object>(more: More) =>
      modules === 0 && damage.length === 0
        ? null
        : { modules, bytes, ...more, places: sortedCounts(places), damage },
  };
}

export function count<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

export function sortedCounts(counts: ReadonlyMap<string, number>): Readonly<Record<string, number>> {
  return Object.fromEntries([...counts].sort(compareFirst));
}
