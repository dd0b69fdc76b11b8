/** All that `imgmatch cover` answers at once: a fleet as it is, as it would be, and what breaks its policies. */

import type { NamedHost } from "../host/read-hosts.ts";
import type { ResolveImageOptions } from "../resolve/resolve-options.ts";
import { type CoverChange, compareCovers } from "./compare-covers.ts";
import { type Cover, type CoverFleet, coverClasses } from "./cover-classes.ts";
import { costOf, type FleetCost } from "./fleet-cost.ts";
import { openCover } from "./what-if.ts";
import { type PullPlan, planPulls } from "./pull-plan.ts";
import { checkCover, type Violation } from "./policies.ts";
import { type SuggestOptions, type Suggestion, suggestCells } from "./suggestion.ts";

export interface CoverQuestion extends ResolveImageOptions {
  /** Changes to try: `driver=580.95.05`, `drop:cuda=11.*`, `add:compute=10.0,cuda=13.0.2`. */
  readonly whatIf?: readonly string[];
  /** The matrix whose cells are to be chosen anew; of a plan alone. */
  readonly suggest?: SuggestOptions;
  /** Plan the pulls: digests or cells that every host has. */
  readonly have?: readonly string[];
  /** Names of policies to hold. */
  readonly check?: readonly string[];
}

/** The things that are counted: hosts that somebody has, or machine types of the catalogue. */
export interface Counted {
  readonly hostsAre?: "machine type";
}

/** `imgmatch cover --json`: a contract. */
export interface CoverReport extends Cover, Counted {
  /** Only where changes were asked for: the same classes with them. */
  readonly whatIf?: {
    readonly changes: readonly string[];
    /** Classes that get another image, or the same in another tier. */
    readonly diff: readonly CoverChange[];
    /** Of the images that go: what only they take in the registry. */
    readonly dropped: FleetCost;
    /** Hosts that get native code now, and would not. */
    readonly notNative: { readonly hosts: number; readonly classes: readonly string[] };
    readonly after: Omit<Cover, "schemaVersion" | "fleet">;
  };
  /** Only where it was asked for: the cells that these hosts need. */
  readonly suggestion?: Suggestion;
  /** Only where it was asked for. */
  readonly pullPlan?: PullPlan;
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
  { whatIf: texts = [], check, suggest, have, ...options }: CoverQuestion = {},
): CoverReport {
  const { classes, after } = openCover(fleet, hosts, texts);
  const now = coverClasses(fleet, classes, options);
  const more = {
    ...(suggest === undefined ? {} : { suggestion: suggestCells(suggest, plannedOf(fleet), classes) }),
    ...(have === undefined ? {} : { pullPlan: planPulls(fleet.lock, classes, now.classes, have) }),
  };
  if (after === null) return { ...now, ...more, ...violationsOf(now, check) };
  const then = coverClasses(after.fleet, after.classes, options);
  const { schemaVersion: _, fleet: __, ...whole } = then;
  const whatIf = {
    changes: texts,
    diff: compareCovers(now, then),
    dropped: droppedFrom(fleet, after.fleet),
    notNative: notNativeIn(now, then),
    after: whole,
  };
  return { ...now, whatIf, ...more, ...violationsOf(then, check) };
}

function droppedFrom({ lock, figures = lock.images }: CoverFleet, after: CoverFleet): FleetCost {
  const kept = Object.keys(after.lock.images);
  const gone = Object.keys(lock.images).filter((cell) => !Object.hasOwn(after.lock.images, cell));
  return costOf(gone, figures, kept);
}

function notNativeIn(now: Cover, then: Cover) {
  const lost = now.classes.filter(
    ({ match }, index) => match?.native === true && then.classes[index]?.match?.native !== true,
  );
  return { hosts: lost.reduce((sum, { hosts }) => sum + hosts, 0), classes: lost.map(({ id }) => id) };
}

function plannedOf({ lock, figures = lock.images }: CoverFleet): Parameters<typeof suggestCells>[1] {
  const cells = Object.entries(lock.images).map(([cell, { axes }]) => ({ cell, axes }));
  return { cells, figures };
}

function violationsOf(cover: Cover, check: readonly string[] | undefined): Pick<CoverReport, "violations"> {
  return check === undefined || check.length === 0 ? {} : { violations: checkCover(cover, check) };
}
