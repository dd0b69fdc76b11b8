/** How well a host class is served, in one word: what a page counts, colours and filters by. */

import type { PageClass } from "./page-data.ts";

/** The worst first. */
export const statuses = ["none", "gpus", "near", "unknown", "native"] as const;
export type Status = (typeof statuses)[number];

/** What is said of a class, and a mark that does without colour. */
export const statusWords = {
  none: { mark: "✕", label: "no image", hosts: "get no image" },
  gpus: { mark: "!", label: "GPUs unused", hosts: "leave their GPUs unused" },
  near: { mark: "≈", label: "not native", hosts: "run code that is not native" },
  unknown: { mark: "?", label: "not known", hosts: "run code of which nobody knows whether it is native" },
  native: { mark: "✓", label: "native", hosts: "run native code" },
} as const satisfies Record<
  Status,
  { readonly mark: string; readonly label: string; readonly hosts: string }
>;

export function statusOf({ match, unusedGpus }: Pick<PageClass, "match" | "unusedGpus">): Status {
  if (match === null) return "none";
  if (unusedGpus) return "gpus";
  if (match.native === null) return "unknown";
  return match.native ? "native" : "near";
}

/** Hosts of each status. */
export function countStatuses(classes: readonly PageClass[]): Readonly<Record<Status, number>> {
  const counts: Record<Status, number> = { none: 0, gpus: 0, near: 0, unknown: 0, native: 0 };
  for (const each of classes) counts[statusOf(each)] += each.hosts;
  return counts;
}
