/** The status of a host class, by which the page counts, colours and filters, and the steps to a better status. */

import { groupBy } from "../../io/collections.ts";
import { hostsOf } from "../image-use.ts";
import type { PageClass } from "./page-data.ts";

/** The worst first. */
export const statuses = ["none", "gpus", "near", "unknown", "native"] as const;

export type Status = (typeof statuses)[number];

/** Words and a mark for each status. */
export const statusWords = {
  none: { mark: "✕", label: "no image", hosts: "get no image" },
  gpus: { mark: "!", label: "GPUs unused", hosts: "leave their GPUs unused" },
  near: { mark: "≈", label: "not native", hosts: "run code that is not native" },
  unknown: {
    mark: "?",
    label: "not known",
    hosts: "run code that may not be native: not all facts are known",
  },
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

/** The number of hosts of each status. */
export function countStatuses(classes: readonly PageClass[]): Readonly<Record<Status, number>> {
  const counts: Record<Status, number> = { none: 0, gpus: 0, near: 0, unknown: 0, native: 0 };
  for (const each of classes) counts[statusOf(each)] += each.hosts;
  return counts;
}

/** A step that would serve more hosts. Classes with the same fixes are one entry. */
export interface ToDo {
  readonly status: Status;
  readonly hosts: number;
  readonly classes: readonly PageClass[];
  /** An image of the fleet serves these hosts after all of these fixes. */
  readonly fixes: readonly string[];
  /** The missing cell that would serve the hosts; null if it is unknown. */
  readonly serve: string | null;
  /** Of the first class. */
  readonly nearest: PageClass["nearest"];
}

/** Steps for classes of these statuses: the worst status first, then the most hosts. */
export function toDoOf(classes: readonly PageClass[], allowed: readonly Status[]): readonly ToDo[] {
  const chosen = classes.filter((each) => allowed.includes(statusOf(each)));
  const groups = groupBy(chosen, (each) => JSON.stringify([statusOf(each), fixesOf(each), each.serve]));
  return [...groups.values()]
    .flatMap((members): ToDo[] => {
      const [first] = members;
      if (first === undefined) return [];
      return [
        {
          status: statusOf(first),
          hosts: hostsOf(members),
          classes: members,
          fixes: fixesOf(first),
          serve: first.serve,
          nearest: first.nearest,
        },
      ];
    })
    .sort((a, b) => statuses.indexOf(a.status) - statuses.indexOf(b.status) || b.hosts - a.hosts);
}

function fixesOf({ nearest }: PageClass): readonly string[] {
  return [...new Set(nearest?.reasons.map(({ fix }) => fix) ?? [])];
}
