/** Data that is equal has one text: the keys of every object sorted, lists in their own order. */

import { isRecord } from "./json.ts";
import { sortedEntries } from "./collections.ts";

/**
 * The same value with sorted keys, for `JSON.stringify`.
 *
 * @example
 * JSON.stringify(canonical({ b: 1, a: [{ d: 2, c: 3 }] })); // {"a":[{"c":3,"d":2}],"b":1}
 */
export function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (!isRecord(value)) return value;
  return Object.fromEntries(sortedEntries(value).map(([key, item]) => [key, canonical(item)]));
}
