/** The state that all parts of the page share: the data, the question, and the listeners for its changes. */

import { type Answers, answersOf } from "../ask.ts";
import { search, searchedClass, searchedImage, type Status } from "../class-status.ts";
import { optionsOf, type PageClass, type PageData, type PageFleet } from "../page-data.ts";
import type { Cover } from "../../cover-classes.ts";
import { nounOf } from "../../cover-rows.ts";
import type { CoverChange } from "../../compare-covers.ts";

/** The fleet and its hosts as they are, or with the changes. */
export type ViewName = "now" | "after";

export interface View extends Pick<Cover, "counts" | "cost" | "images"> {
  readonly classes: readonly PageClass[];
  readonly fleet: PageFleet;
  /** Worked out when somebody asks for the first time. */
  readonly answers: () => Answers;
  /** All for an empty query. */
  readonly search: (query: string) => Pick<View, "classes" | "images">;
}

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
  /** Whom it counts: `host`, or `machine type`. */
  readonly noun: string;
  /** The same at the head of a column: `Hosts`. */
  readonly nounHead: string;
  /** By a class's id. */
  readonly changes: ReadonlyMap<string, CoverChange>;
  readonly asked: () => Asked;
  readonly view: () => View;
  readonly ask: (change: Partial<Asked>) => void;
  /** Told of each change, and what changed. */
  readonly listen: (listener: (changed: ReadonlySet<keyof Asked>) => void) => void;
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
  const listeners: ((changed: ReadonlySet<keyof Asked>) => void)[] = [];
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
      const changed = new Set(names.filter((name) => next[name] !== asked[name]));
      asked = next;
      if (changed.size > 0) for (const listener of listeners) listener(changed);
    },
    listen: (listener) => listeners.push(listener),
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
