/** All that `imgmatch cover` answers at once: a fleet as it is, as it would be, and what breaks its policies. */

import type { NamedHost } from "../host/read-hosts.ts";
import type { ResolveImageOptions } from "../resolve/resolve-options.ts";
import { type CoverChange, compareCovers } from "./compare-covers.ts";
import { type Cover, type CoverFleet, coverClasses } from "./cover-classes.ts";
import type { Counted } from "./cover-rows.ts";
import { openCover } from "./open-cover.ts";
import { checkCover, type Violation } from "./policies.ts";
import { type SuggestOptions, type Suggestion, suggestCells } from "./suggestion.ts";

export interface CoverQuestion extends ResolveImageOptions {
  /** Changes to try: `driver=580.95.05`, `drop:cuda=11.*`, `add:compute=10.0,cuda=13.0.2`. */
  readonly whatIf?: readonly string[];
  /** The matrix whose cells are to be chosen anew; of a plan alone. */
  readonly suggest?: SuggestOptions;
  /** Names of policies to hold. */
  readonly check?: readonly string[];
}

/** `imgmatch cover --json`: a contract. */
export interface CoverReport extends Cover, Counted {
  /** Only where changes were asked for: the same classes with them. */
  readonly whatIf?: {
    readonly changes: readonly string[];
    /** Classes that get another image, or the same in another tier. */
    readonly diff: readonly CoverChange[];
    readonly after: Omit<Cover, "schemaVersion" | "fleet">;
  };
  /** Only where it was asked for: the cells that these hosts need. */
  readonly suggestion?: Suggestion;
  /** Only where policies were asked for: what breaks them, after the changes. */
  readonly violations?: readonly Violation[];
}

/**
 * Says which image of a fleet each class of hosts gets, now and after changes. Throws as `resolveImage` does, and `USAGE` for changes
 * and policies that are none.
 *
 * @example
 * const { counts, whatIf } = coverReport({ from: "lock", lock }, hosts, { whatIf: ["driver=580.95.05"] });
 */
export function coverReport(
  fleet: CoverFleet,
  hosts: readonly NamedHost[],
  { whatIf: texts = [], check, suggest, ...options }: CoverQuestion = {},
): CoverReport {
  const { classes, after } = openCover(fleet, hosts, texts);
  const now = coverClasses(fleet, classes, options);
  const suggestion =
    suggest === undefined ? {} : { suggestion: suggestCells(suggest, plannedOf(fleet), classes) };
  if (after === null) return { ...now, ...suggestion, ...violationsOf(now, check) };
  const then = coverClasses(after.fleet, after.classes, options);
  const { schemaVersion: _, fleet: __, ...whole } = then;
  const whatIf = { changes: texts, diff: compareCovers(now, then), after: whole };
  return { ...now, whatIf, ...suggestion, ...violationsOf(then, check) };
}

function plannedOf({ lock, figures = lock.images }: CoverFleet): Parameters<typeof suggestCells>[1] {
  const cells = Object.entries(lock.images).map(([cell, { axes }]) => ({ cell, axes }));
  return { cells, figures };
}

function violationsOf(cover: Cover, check: readonly string[] | undefined): Pick<CoverReport, "violations"> {
  return check === undefined || check.length === 0 ? {} : { violations: checkCover(cover, check) };
}
