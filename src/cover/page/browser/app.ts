/** The state of the page: its data, the choices of the reader, and listeners for their changes. */

import { once } from "../../../io/collections.ts";
import { type Answers, answersOf } from "../answers.ts";
import { type Status, statusOf, statusWords } from "../class-status.ts";
import { optionsOf, type PageClass, type PageData, type PageFleet } from "../page-data.ts";
import type { Cover } from "../../cover-classes.ts";
import { classRow, nounOf } from "../../cover-words.ts";
import type { CoverChange } from "../../compare-covers.ts";
import type { CoveredImage } from "../../image-use.ts";

export interface View extends Pick<Cover, "counts" | "cost" | "images"> {
  readonly classes: readonly PageClass[];
  readonly fleet: PageFleet;
  /** Computed at the first call. */
  readonly answers: () => Answers;
  /** An empty query finds all. */
  readonly search: (query: string) => Pick<View, "classes" | "images">;
}

/** The choices of the reader. */
export interface Shown {
  /** The fleet and its hosts as they are, or with the changes. */
  readonly view: "now" | "after";
  readonly query: string;
  /** null for all. */
  readonly status: Status | null;
  /** Only images that nobody gets. */
  readonly idle: boolean;
}

export interface App {
  readonly data: PageData;
  readonly views: { readonly now: View; readonly after: View | null };
  /** `host` or `machine type`. */
  readonly noun: string;
  /** `Hosts` or `Machine types`. */
  readonly nounHead: string;
  /** By a class's id. */
  readonly changes: ReadonlyMap<string, CoverChange>;
  readonly shown: () => Shown;
  readonly view: () => View;
  readonly show: (change: Partial<Shown>) => void;
  /** Draws now, and at every change of one of these choices. */
  readonly listen: (members: readonly (keyof Shown)[], draw: () => void) => void;
}

export function createApp(data: PageData): App {
  const { report, now, after, question } = data;
  const { whatIf } = report;
  const options = optionsOf(question);
  const viewOf = (cover: Pick<View, "counts" | "cost" | "images" | "classes">, fleet: PageFleet): View => {
    const { counts, cost, images, classes } = cover;
    const answers = once(() => answersOf(fleet, classes, options));
    const indexed = once(() => ({ classes: classes.map(searchedClass), images: images.map(searchedImage) }));
    return {
      ...{ counts, cost, images, classes, fleet, answers },
      search: (query) => ({
        classes: search(indexed().classes, query),
        images: search(indexed().images, query),
      }),
    };
  };
  const views = {
    now: viewOf(report, now),
    after: whatIf === undefined || after === null ? null : viewOf(whatIf.after, after),
  };
  const listeners: { readonly members: readonly (keyof Shown)[]; readonly draw: () => void }[] = [];
  let shown: Shown = { view: "now", query: "", status: null, idle: false };
  const noun = nounOf(report);
  return {
    data,
    views,
    noun,
    nounHead: `${noun.charAt(0).toUpperCase()}${noun.slice(1)}s`,
    changes: new Map(whatIf?.diff.map((change) => [change.id, change])),
    shown: () => shown,
    view: () => views[shown.view] ?? views.now,
    show: (change) => {
      const next = { ...shown, ...change };
      const names = Object.keys(change) as (keyof Shown)[];
      const changed = names.filter((name) => next[name] !== shown[name]);
      shown = next;
      for (const { members, draw } of listeners) if (members.some((name) => changed.includes(name))) draw();
    },
    listen: (members, draw) => {
      listeners.push({ members, draw });
      draw();
    },
  };
}

/** `c3` is the third. */
export function placeOf(id: string): number {
  return Number(id.slice(1)) - 1;
}

interface Searched<Row> {
  readonly row: Row;
  readonly text: string;
}

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

function searchedImage(row: CoveredImage): Searched<CoveredImage> {
  const axes = Object.entries(row.axes).map(([axis, value]) => `${axis}=${value}`);
  return {
    row,
    text: [row.cell, ...axes, row.platform, ...(row.nearest?.reasons.map(({ code }) => code) ?? [])]
      .join("\n")
      .toLowerCase(),
  };
}

export function search<Row>(rows: readonly Searched<Row>[], query: string): readonly Row[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter(({ text }) => words.every((word) => text.includes(word))).map(({ row }) => row);
}
