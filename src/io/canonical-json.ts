/** Sorts the keys of JSON data, so that equal data has equal text. */

import { isRecord } from "./json.ts";
import { sortedEntries } from "./collections.ts";

/**
 * The same value with the keys of every object sorted. Lists keep their order.
 *
 * @example
 * JSON.stringify(canonical({ b: 1, a: [{ d: 2, c: 3 }] })); // {"a":[{"c":3,"d":2}],"b":1}
 */
export function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (!isRecord(value)) return value;
  return Object.fromEntries(sortedEntries(value).map(([key, item]) => [key, canonical(item)]));
}
