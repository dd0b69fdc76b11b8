/** Sorts, groups and remembers. */

/** For `sort`, in the order of code units: equal in every language and on every machine. */
export function compareText(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Compares pairs by their first items. */
export function compareFirst(
  [one]: readonly [string, ...unknown[]],
  [other]: readonly [string, ...unknown[]],
): number {
  return compareText(one, other);
}

/** The members of a record, sorted by name. */
export function sortedEntries<Value>(record: Readonly<Record<string, Value>>): [string, Value][] {
  return Object.entries(record).sort(compareFirst);
}

/** `Map.groupBy`, which Node 20 lacks. Keeps the order of the items. */
export function groupBy<Key, Item>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) remember(groups, keyOf(item), () => []).push(item);
  return groups;
}

/** A `Map` or a `WeakMap`. */
interface Memory<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
}

/** Answers the known value of a key, or makes and remembers it. */
export function remember<Key, Value>(known: Memory<Key, Value>, key: Key, make: () => Value): Value {
  const found = known.get(key);
  if (found !== undefined) return found;
  const made = make();
  known.set(key, made);
  return made;
}

/** Makes a value at the first call, and answers the same at each. */
export function once<Value>(make: () => Value): () => Value {
  const known = new Map<null, Value>();
  return () => remember(known, null, make);
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
