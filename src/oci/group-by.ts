/** Lists in groups. */

import { remember } from "./remember.ts";

/** `Map.groupBy`, which Node 20 has not: the items by their keys, each in the order of the items. */
export function groupBy<Key, Item>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) remember(groups, keyOf(item), () => []).push(item);
  return groups;
}
