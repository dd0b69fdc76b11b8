/** Lock → text: sorted keys, two spaces, final newline. Equal locks are equal bytes, and the changes of two people merge. */

import { isRecord } from "../io/json.ts";
import { sortedEntries } from "../io/collections.ts";
import type { Lock } from "./lock.ts";

/** Longest line of an object: a base with its digest fits. */
const width = 170;

/**
 * About 30 lines an image, so that a person can review a change. A list of words stands on one line, however long, and so do named numbers
 * and anything that fits.
 */
export function formatLock(lock: Lock): string {
  return `${format("", lock, "")}\n`;
}

/** `label` stands before the value on its first line. */
function format(label: string, value: unknown, indent: string): string {
  const flat = onOneLine(value);
  if (flat !== null && (isWords(value) || indent.length + label.length + flat.length <= width))
    return label + flat;
  const inner = `${indent}  `;
  const [open, items, close] = Array.isArray(value)
    ? ["[", value.map((item) => format("", item, inner)), "]"]
    : ["{", membersOf(value).map(([key, item]) => format(`${JSON.stringify(key)}: `, item, inner)), "}"];
  return `${label}${open}\n${items.map((item) => inner + item).join(",\n")}\n${indent}${close}`;
}

/** null for a value that is nested too deep for one line. */
function onOneLine(value: unknown, depth = 0): string | null {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (depth > deepest) return null;
  const items = Array.isArray(value)
    ? value.map((item) => onOneLine(item, depth + 1))
    : membersOf(value).map(([key, item]) => {
        const text = onOneLine(item, depth + 1);
        return text === null ? null : `${JSON.stringify(key)}: ${text}`;
      });
  if (items.includes(null)) return null;
  const text = items.join(", ");
  if (Array.isArray(value)) return `[${text}]`;
  return text === "" ? "{}" : `{ ${text} }`;
}

const deepest = 1;

/** A list of texts and numbers, an object with one such list, or an object of numbers. */
function isWords(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((item) => typeof item !== "object");
  const members = membersOf(value);
  if (members.length > 0 && members.every(([, item]) => typeof item === "number")) return true;
  return members.length === 1 && Array.isArray(members[0]?.[1]) && isWords(members[0][1]);
}

function membersOf(value: unknown): [string, unknown][] {
  return isRecord(value) ? sortedEntries(value).filter(([, item]) => item !== undefined) : [];
}
