/** Lock → text: sorted keys, two spaces, final newline; equal locks are equal bytes, and two people's changes merge. */

import type { Lock } from "./lock.ts";

export function formatLock(lock: Lock): string {
  return `${JSON.stringify(sortKeys(lock), null, 2)}\n`;
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, item]) => [key, sortKeys(item)]));
}
