/** The state of the page: its data, the reader's question, and listeners for its changes. */

import { type Answers, answersOf } from "../answers.ts";
import type { Status } from "../class-status.ts";
import { optionsOf, type PageClass, type PageData, type PageFleet } from "../page-data.ts";
import type { Cover } from "../../cover-classes.ts";
import { nounOf } from "../../cover-rows.ts";
import { search, searchedClass, searchedImage } from "../search.ts";
import type { CoverChange } from "../../compare-covers.ts";

/** The fleet and its hosts as they are, or with the changes. */
type ViewName = "now" | "after";

export interface View extends Pick<Cover, "counts" | "cost" | "images"> {
  readonly classes: readonly PageClass[];
  readonly fleet: PageFleet;
  /** Computed at the first call. */
  readonly answers: () => Answers;
  /** An empty query finds all. */
  readonly search: (query: string) => Pick<View, "classes" | "images">;
}

/** The reader's question. */
export interface Asked {
  readonly view: ViewName;
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
  readonly asked: () => Asked;
  readonly view: () => View;
  readonly ask: (change: Partial<Asked>) => void;
  /** Draws now, and at every change of one of these members. */
  readonly listen: (members: readonly (keyof Asked)[], draw: () => void) => void;
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
  const listeners: { readonly members: readonly (keyof Asked)[]; readonly draw: () => void }[] = [];
  let asked: Asked = { view: "now", query: "", status: null, idle: false };
  const noun = nounOf(report);
  return {
    data,
    views,
    noun,
    nounHead: `${noun.charAt(0).toUpperCase()}${noun.slice(1)}s`,
    changes: new Map(whatIf?.diff.map((change) => [change.id, change])),
    asked: () => asked,
    view: () => views[asked.view] ?? views.now,
    ask: (change) => {
      const next = { ...asked, ...change };
      const names = Object.keys(change) as (keyof Asked)[];
      const changed = names.filter((name) => next[name] !== asked[name]);
      asked = next;
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

function once<Made extends object>(make: () => Made): () => Made {
  let made: Made | undefined;
  return () => (made ??= make());
}
