/** Text in the order of its code units: the same in every language and on every machine. */

/** For `sort`. */
export function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** For lists of pairs, by the first of each. */
export function compareFirst(
  [one]: readonly [string, ...unknown[]],
  [other]: readonly [string, ...unknown[]],
): number {
  return compareText(one, other);
}

/** A record's members by their names. */
export function sortedEntries<Value>(record: Readonly<Record<string, Value>>): [string, Value][] {
  return Object.entries(record).sort(compareFirst);
}
