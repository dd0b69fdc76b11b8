/** The whole answer of `imgmatch cover`: the fleet now and after changes, and violations of policies. */

import type { NamedHost } from "../facts/named-host.ts";
import type { ResolveImageOptions } from "../resolve/resolve-options.ts";
import { type CoverChange, compareCovers } from "./compare-covers.ts";
import { type Cover, coverClasses } from "./cover-classes.ts";
import type { CoverFleet } from "./cover-fleet.ts";
import { countUse, type UseCounts } from "../node/launch/gpu-units.ts";
import { costOf, type FleetCost } from "./fleet-cost.ts";
import { hostsOf } from "./image-use.ts";
import { applyChanges } from "./what-if.ts";
import { type PullPlan, planPulls } from "./pull-plan.ts";
import { type Checked, checkCover, type Violation } from "./policies.ts";
import { type SuggestOptions, type Suggestion, suggestCells } from "./suggestion.ts";

export interface ReportOptions extends ResolveImageOptions {
  /** Changes to try: `driver=580.95.05`, `drop:cuda=11.*`, `add:compute=10.0,cuda=13.0.2`. */
  readonly whatIf?: readonly string[];
  /** For a planned fleet: the matrix whose cells are chosen anew. */
  readonly suggest?: SuggestOptions;
  /** Plan pulls. Every host has these digests or cells already. */
  readonly have?: readonly string[];
  /** Names of policies to hold. */
  readonly check?: readonly string[];
}

/** The counted things: hosts, or machine types of the catalogue. */
export interface Counted {
  readonly hostsAre?: "machine type";
}

/** `imgmatch cover --json`: a contract. */
export interface CoverReport extends Cover, Counted {
  /** The GPUs, or their parts, of all hosts. Only where the facts tell the use of one. */
  readonly gpuUse?: UseCounts;
  /** Only with `whatIf`: the same classes after the changes. */
  readonly whatIf?: {
    readonly changes: readonly string[];
    /** Classes that get another image, or the same in another tier. */
    readonly diff: readonly CoverChange[];
    /** The cost of dropped images, without layers that other images share. */
    readonly dropped: FleetCost;
    /** Hosts that would lose native code. */
    readonly notNative: { readonly hosts: number; readonly classes: readonly string[] };
    readonly after: Omit<Cover, "schemaVersion" | "fleet">;
  };
  /** Only with `suggest`: the cells that these hosts need. */
  readonly suggestion?: Suggestion;
  /** Only with `have`. */
  readonly pullPlan?: PullPlan;
  /** Only with `check`: what the policies have looked at, after the changes. */
  readonly checked?: readonly Checked[];
  /** Only with `check`: violations of policies, after the changes. */
  readonly violations?: readonly Violation[];
}

/**
 * Says which image of a fleet each class of hosts gets, now and after changes. Throws as `resolveImage` does, and `USAGE` for unknown
 * changes and policies.
 *
 * @example
 * const { counts, whatIf } = coverReport({ from: "lock", lock }, hosts, { whatIf: ["driver=580.95.05"] });
 */
export function coverReport(
  fleet: CoverFleet,
  hosts: readonly NamedHost[],
  { whatIf: texts = [], check, suggest, have, ...options }: ReportOptions = {},
): CoverReport {
  const { classes, after } = applyChanges(fleet, hosts, texts);
  const now = coverClasses(fleet, classes, options);
  const gpuUse = countUse(hosts.map(({ facts }) => facts));
  const more = {
    ...(gpuUse === null ? {} : { gpuUse }),
    ...(suggest === undefined ? {} : { suggestion: suggestCells(suggest, fleet, classes) }),
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
  return { hosts: hostsOf(lost), classes: lost.map(({ id }) => id) };
}

function violationsOf(
  cover: Cover,
  check: readonly string[] | undefined,
): Pick<CoverReport, "checked" | "violations"> {
  return check === undefined || check.length === 0 ? {} : checkCover(cover, check);
}
