/** What would serve more hosts, the worst off first and the most of them: classes that want the same are one entry. */

import { groupBy } from "../../oci/group-by.ts";
import { type Status, statuses, statusOf } from "./class-status.ts";
import type { PageClass } from "./page-data.ts";

export interface ToDo {
  readonly status: Status;
  readonly hosts: number;
  readonly classes: readonly PageClass[];
  /** What to do on these hosts so that an image of the fleet serves them: all of it. */
  readonly fixes: readonly string[];
  /** What to have in the fleet instead; null where the facts do not tell. */
  readonly serve: string | null;
  /** Of the first of them. */
  readonly nearest: PageClass["nearest"];
}

/** Classes of these statuses that anything is known to do about. */
export function toDoOf(classes: readonly PageClass[], wanted: readonly Status[]): readonly ToDo[] {
  const asked = classes.filter((each) => wanted.includes(statusOf(each)));
  const groups = groupBy(asked, (each) => JSON.stringify([statusOf(each), fixesOf(each), each.serve]));
  return [...groups.values()]
    .flatMap((members): ToDo[] => {
      const [first] = members;
      if (first === undefined) return [];
      return [
        {
          status: statusOf(first),
          hosts: members.reduce((sum, { hosts }) => sum + hosts, 0),
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
