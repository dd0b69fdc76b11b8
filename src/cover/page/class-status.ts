/** How well a host class is served, in one word: what a page counts, colours and filters by. */

import { groupBy } from "../../io/collections.ts";
import { classRow } from "../cover-rows.ts";
import { type CoveredImage, hostsOf } from "../image-use.ts";
import type { PageClass } from "./page-data.ts";

/** The worst first. */
export const statuses = ["none", "gpus", "near", "unknown", "native"] as const;

export type Status = (typeof statuses)[number];

/** Words for each status, and a mark that does without colour. */
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

/** A step that would serve more hosts, the worst off first and the most of them: classes that want the same are one entry. */
export interface ToDo {
  readonly status: Status;
  readonly hosts: number;
  readonly classes: readonly PageClass[];
  /** Fixes of these hosts so that an image of the fleet serves them: all of them. */
  readonly fixes: readonly string[];
  /** The cell to add to the fleet instead; null if the facts do not tell. */
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

/** The search of a page: every word has to be in a row's text, whatever its case. */
interface Searched<Row> {
  readonly row: Row;
  readonly text: string;
}

/** Names, GPUs, driver, CPU, image and how it runs, problems and reasons. */
export function searchedClass(row: PageClass): Searched<PageClass> {
  const { names, host, nearest, serve, match } = row;
  const reasons = nearest?.reasons.flatMap(({ code, message }) => [code, message]) ?? [];
  const words = [
    ...classRow({ ...row, others: [] }).slice(1),
    statusWords[statusOf(row)].label,
    ...names,
    ...host.products,
    ...host.problems,
    ...reasons,
    host.model ?? "",
    host.platform,
    host.level ?? "",
    serve ?? "",
    match?.tier ?? "",
  ];
  return { row, text: words.join("\n").toLowerCase() };
}

export function searchedImage(row: CoveredImage): Searched<CoveredImage> {
  const axes = Object.entries(row.axes).map(([axis, value]) => `${axis}=${value}`);
  return { row, text: [row.cell, ...axes, row.platform, row.misfit?.code ?? ""].join("\n").toLowerCase() };
}

export function search<Row>(rows: readonly Searched<Row>[], query: string): readonly Row[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter(({ text }) => words.every((word) => text.includes(word))).map(({ row }) => row);
}
