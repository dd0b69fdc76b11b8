/** Compares what each of some hosts got with what it gets: the hosts that a change loses, slows down or gains, in groups with one reason. */

import { groupBy } from "../io/collections.ts";
import { answerOfSide, type BySide, type Requirement, sidesOf } from "../lock/requirement.ts";
import { compareKeys, keyOf, type Ordered, orderSteps } from "../resolve/order-steps.ts";
import type { Fit } from "../resolve/verdict.ts";

/** The answer of the rules for one host, about a subject or a fleet. */
export interface Outcome {
  /** null: nothing forbids it, and nothing proves that it runs. */
  readonly fits: boolean | null;
  /** The needs by which it was judged, and how it fits; null unless it fits by such. */
  readonly fit: Fit | null;
  readonly requires: Requirement | null;
  /** The package that decides, with its version; empty for a subject of one part. */
  readonly part: string;
  /** The first reason against it. */
  readonly code: string;
  readonly why: string;
}

export interface HostOutcomes {
  readonly host: string;
  /** For people: `Tesla V100-SXM2-16GB`. Empty without GPUs. */
  readonly gpus: readonly string[];
  readonly before: Outcome;
  readonly after: Outcome;
}

/** `unproved`: it ran, and nothing proves any more that it does. */
export const changeKinds = ["lost", "unproved", "slower", "faster", "gained"] as const;

export interface OutcomeChange {
  readonly kind: (typeof changeKinds)[number];
  /** The reason of all of these hosts: `driver floor 525.60.13 → 580.65.06`. */
  readonly why: string;
  readonly hosts: readonly string[];
}

export interface Comparison {
  readonly schemaVersion: 1;
  /** The new side and the old one, as the caller named them. */
  readonly subject: string;
  readonly against: string;
  readonly hosts: number;
  /** Hosts that run both alike. */
  readonly same: number;
  /** Hosts that run neither. */
  readonly neither: number;
  /** The kinds in their order; of a kind the largest group first. */
  readonly changes: readonly OutcomeChange[];
}

export function compareOutcomes(subject: string, against: string, all: readonly HostOutcomes[]): Comparison {
  const found = all.map((each) => ({ host: each.host, ...changeOf(each) }));
  const changes = changeKinds.flatMap((kind) =>
    [
      ...groupBy(
        found.filter((each) => each.kind === kind),
        ({ why }) => why,
      ),
    ]
      .map(([why, alike]) => ({ kind, why, hosts: alike.map(({ host }) => host) }))
      .sort((a, b) => b.hosts.length - a.hosts.length),
  );
  const count = (kind: string) => found.filter((each) => each.kind === kind).length;
  const counts = { hosts: all.length, same: count("same"), neither: count("neither") };
  return { schemaVersion: 1, subject, against, ...counts, changes };
}

/** True where a host is lost, or can no longer be proved to run it. */
export function losesHosts({ changes }: Comparison): boolean {
  return changes.some(({ kind }) => kind === "lost" || kind === "unproved");
}

function changeOf({ before, after, gpus }: HostOutcomes): {
  readonly kind: OutcomeChange["kind"] | "same" | "neither";
  readonly why: string;
} {
  if (after.fits !== true) {
    if (before.fits === after.fits || before.fits === false) return { kind: "neither", why: "" };
    return { kind: after.fits === false ? "lost" : "unproved", why: whyLost(before, after, gpus) };
  }
  if (before.fits !== true) return { kind: "gained", why: whyLost(after, before, []) };
  const [one, other] = [orderedOf(before), orderedOf(after)];
  if (one === null || other === null) return { kind: "same", why: "" };
  for (const step of [orderSteps.gpu, orderSteps.code, orderSteps.tier]) {
    const difference = compareKeys(keyOf(step, other), keyOf(step, one));
    const why = `${step.name}: ${step.show(one)} → ${step.show(other)}`;
    // A host with GPUs does not fall back to its CPU in silence.
    if (difference > 0) return { kind: step === orderSteps.gpu ? "lost" : "slower", why };
    if (difference < 0) return { kind: "faster", why };
  }
  return { kind: "same", why: "" };
}

function orderedOf({ fit, requires }: Outcome): Ordered | null {
  const needs = fit?.as ?? requires;
  return fit === null || needs === null
    ? null
    : { cell: "", image: { axes: {}, tag: "", requires: needs }, fit };
}

/** What has changed between the two, where their needs tell; else the rule's own words. */
function whyLost(had: Outcome, lacks: Outcome, gpus: readonly string[]): string {
  const part = lacks.part === "" || lacks.part === had.part ? lacks.part : `${had.part} → ${lacks.part}`;
  const words = part === "" ? "" : `${part}: `;
  const floors = [floorOf(had), floorOf(lacks)];
  if (lacks.code === "DRIVER_TOO_OLD" && floors[0] !== null && floors[1] !== null && floors[0] !== floors[1])
    return `${words}driver floor ${floors.join(" → ")}`;
  if (lacks.code === "NO_GPU_CODE" && gpus.length > 0)
    return `${words}${gpus.join(", ")} dropped: ${lacks.why}`;
  return `${words}${lacks.why}`;
}

function floorOf({ requires }: Outcome): string | null {
  const [side] = requires === null ? [] : sidesOf(requires);
  return side === undefined ? null : answerOfSide(driverFloor, side);
}

const driverFloor: BySide<string | null> = {
  nvidia: ({ driver }) => (driver.mode === "host" ? driver.minimum : null),
  amd: () => null,
};
