/** Lock → text: sorted keys, two spaces, final newline. Equal locks are equal bytes, and the changes of two people merge. */

import { isRecord } from "../io/json.ts";
import { sortedEntries } from "../io/collections.ts";
import type { Lock } from "./lock.ts";

/** A cell is one line: git then merges whole cells, or reports a conflict. With a cell on several lines git joins the lines of two builds. */
export function formatLock(lock: Lock): string {
  const members = membersOf(lock).map(
    ([key, value]) => `  ${JSON.stringify(key)}: ${isRecord(value) ? rowsOf(value) : lineOf(value)}`,
  );
  return `{\n${members.join(",\n")}\n}\n`;
}

function rowsOf(value: object): string {
  const rows = membersOf(value).map(([key, item]) => `    ${JSON.stringify(key)}: ${lineOf(item)}`);
  return rows.length === 0 ? "{}" : `{\n${rows.join(",\n")}\n  }`;
}

/** Sorted keys: equal values are equal texts. */
export function lineOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(lineOf).join(", ")}]`;
  const members = membersOf(value).map(([key, item]) => `${JSON.stringify(key)}: ${lineOf(item)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}

function membersOf(value: object): [string, unknown][] {
  return sortedEntries(value as Record<string, unknown>).filter(([, item]) => item !== undefined);
}
