/** Answers questions on the page by the rules of `resolve`, so that it says the same as `imgmatch why-not`. */

import { groupBy, once } from "../../io/collections.ts";
import { viewHost } from "../../resolve/host-view.ts";
import { askWithoutCache, checkFitBy } from "../../resolve/check-fit.ts";
import { fitOptions, type ResolveImageOptions } from "../../resolve/resolve-options.ts";
import { explainOrder } from "../../resolve/rank.ts";
import { createResolver } from "../../resolve/resolver.ts";
import { type WhyNot, whyNotImage } from "../../resolve/why-not-image.ts";
import { named, namedReasons } from "../image-use.ts";
import type { PageClass, PageFleet } from "./page-data.ts";

/** The answers about one fleet and its hosts. A class is named by its place. */
export interface Answers {
  /** All images for one class: fitting images, the best first, and the remaining images grouped by their first reason. */
  readonly imagesFor: (place: number) => ImagesForClass;
  readonly whyNot: (place: number, cell: string) => WhyNot;
  /** The places of classes that an image does not fit, by the first reason. */
  readonly against: (cell: string) => ReadonlyMap<string, readonly number[]>;
}

export interface ImagesForClass {
  readonly fits: readonly { readonly cell: string; readonly behind: string | null }[];
  readonly rejected: readonly {
    readonly code: string;
    readonly message: string;
    readonly cells: readonly string[];
  }[];
}

export function answersOf(
  { lock, hosts }: PageFleet,
  classes: readonly Pick<PageClass, "names">[],
  options: ResolveImageOptions,
): Answers {
  const resolver = createResolver(lock, options);
  const hostAt = (place: number) => {
    const host = hosts[place];
    if (host === undefined) throw new Error(`no class ${place}`);
    return host;
  };
  const views = once(() => hosts.map(viewHost));
  const nameAt = (place: number) => classes[place]?.names[0] ?? "a host";
  return {
    imagesFor: (place) => {
      const { ranked, rejected, order } = resolver.rank(hostAt(place));
      const [winner] = ranked;
      const groups = groupBy(rejected, ({ code, message }) => `${code}\n${message}`);
      return {
        fits: ranked.map((each) => ({
          cell: each.cell,
          behind: winner === undefined || winner === each ? null : explainOrder(order, winner, each),
        })),
        rejected: [...groups.values()].flatMap((members) => {
          const [first] = members;
          if (first === undefined) return [];
          const message = named(first.message, nameAt(place));
          return [{ code: first.code, message, cells: members.map(({ cell }) => cell) }];
        }),
      };
    },
    whyNot: (place, cell) => {
      const answer = whyNotImage(lock, cell, hostAt(place), options, resolver.rank(hostAt(place)));
      return { ...answer, reasons: namedReasons(answer.reasons, nameAt(place), cell) };
    },
    against: (cell) => {
      const image = lock.images[cell];
      const judge = fitOptions(lock, options);
      const found = views().flatMap((view, place) => {
        const verdict = image === undefined ? null : checkFitBy(askWithoutCache, image, view, judge);
        return verdict === null || verdict.ok ? [] : [{ code: verdict.code, place }];
      });
      const groups = groupBy(found, ({ code }) => code);
      return new Map([...groups].map(([code, members]) => [code, members.map(({ place }) => place)]));
    },
  };
}
