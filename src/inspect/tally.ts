/** Counts GPU code as all vendors' readers do. */

import { compareFirst } from "../io/collections.ts";
import { nameOfPacked } from "../lock/packed-targets.ts";

const maxDamage = 100;

export function createCodeTally() {
  const places = new Map<string, number>();
  const sizes = new Map<string, number>();
  const damage: string[] = [];
  let [modules, bytes] = [0, 0];
  return {
    /** Counts a module with its bytes in the file. */
    add(place: string, size: number) {
      modules++;
      bytes += size;
      count(places, place);
    },
    complain(found: readonly string[]) {
      damage.push(...found.slice(0, maxDamage - damage.length));
    },
    /** Modules of a section so far. */
    modulesIn: (place: string) => places.get(place) ?? 0,
    /** Counts bytes of code for a target, or for several targets that are compressed as one. */
    measure(targets: readonly string[], size: number) {
      const name = nameOfPacked(targets);
      sizes.set(name, (sizes.get(name) ?? 0) + size);
    },
    /** Adds `more`, the counts of one vendor; null if nothing was found. */
    result: <More extends object>(more: More) =>
      modules === 0 && damage.length === 0
        ? null
        : { modules, bytes, sizes: sortedCounts(sizes), ...more, places: sortedCounts(places), damage },
  };
}

export function count<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

export function sortedCounts(counts: ReadonlyMap<string, number>): Readonly<Record<string, number>> {
  return Object.fromEntries([...counts].sort(compareFirst));
}
