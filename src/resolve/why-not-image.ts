/** Gives every reason against an image on a host, or the image's place among the images that fit. */

import type { HostFacts } from "../facts/facts.ts";
import type { Lock, LockedImage } from "../lock/lock.ts";
import { describeMeasured } from "./describe-measured.ts";
import { findMisfits } from "./check-fit.ts";
import { findCell } from "./find-cell.ts";
import { explainOrder } from "./rank.ts";
import type { Candidate } from "./order-steps.ts";
import { immutableReferenceOf, rankImages, referenceOf } from "./resolve-image.ts";
import { fitOptions, type ResolveImageOptions } from "./resolve-options.ts";
import type { Misfit, Resolution, Tier } from "./verdict.ts";

const whyNotSchemaVersion = 1;

export interface WhyNot {
  readonly schemaVersion: typeof whyNotSchemaVersion;
  readonly cell: string;
  /** `repo:tag@sha256:…`, without the digest for an image that was never built. */
  readonly reference: string;
  readonly fits: boolean;
  /** See {@link Match.measured}. */
  readonly measured?: string;
  /** In the order of the rules; empty when it fits. */
  readonly reasons: readonly Pick<Misfit, "code" | "message" | "fix">[];
  /** null when it does not fit. */
  readonly rank: Rank | null;
  readonly problems: Resolution["problems"];
}

export interface Rank {
  /** 1 for the match. */
  readonly place: number;
  /** How many images fit. */
  readonly of: number;
  readonly tier: Tier;
  /** The match that `resolve` prints instead, with the step that decided; null if this image is the match. */
  readonly beatenBy: Victor | null;
  /** The next image, with the step that decided; null if this image is not the match, or nothing else fits. */
  readonly beats: { readonly cell: string; readonly reason: string } | null;
}

export interface Victor {
  readonly cell: string;
  readonly reference: string;
  readonly reason: string;
  /** Pins with which the beaten image wins: its values of the axes in which the images before differ. */
  readonly pins: Readonly<Record<string, string>>;
}

/**
 * Tells why `resolve` does not choose an image, which is named by cell, tag or reference. Throws `CELL_NOT_FOUND`, and what `resolveImage` throws.
 *
 * @example
 * const { fits, reasons, rank } = whyNotImage(lock, "12.8.1_9.0_x86-64-v4", facts);
 */
export function whyNotImage(
  lock: Lock,
  name: string,
  host: HostFacts,
  options: ResolveImageOptions = {},
  ranking = rankImages(lock, host, options),
): WhyNot {
  const { cell, image } = findCell(lock, name);
  const { view, ranked, order, problems } = ranking;
  const reasons = findMisfits(image, view, fitOptions(lock, options)).map(({ code, message, fix }) => ({
    code,
    message,
    fix,
  }));
  const measured = describeMeasured(image);
  const index = ranked.findIndex((candidate) => candidate.cell === cell);
  const answer = {
    schemaVersion: whyNotSchemaVersion,
    cell,
    reference: index < 0 ? referenceOf(lock, image) : immutableReferenceOf(lock, image),
    ...(measured === null ? {} : { measured }),
  } as const;
  const [winner, next] = ranked;
  const own = ranked[index];
  if (own === undefined || winner === undefined)
    return { ...answer, fits: false, reasons, rank: null, problems };
  return {
    ...answer,
    fits: true,
    reasons,
    rank: {
      place: index + 1,
      of: ranked.length,
      tier: own.fit.tier,
      beatenBy:
        own === winner
          ? null
          : {
              cell: winner.cell,
              reference: immutableReferenceOf(lock, winner.image),
              reason: explainOrder(order, winner, own),
              pins: winningPins(own, ranked),
            },
      beats:
        own === winner && next !== undefined
          ? { cell: next.cell, reason: explainOrder(order, winner, next) }
          : null,
    },
    problems,
  };
}

/** Pins with which the image wins. Pins against the victor alone may leave a third image in front. */
function winningPins(own: Candidate, ranked: readonly Candidate[]): Readonly<Record<string, string>> {
  let pins: Readonly<Record<string, string>> = {};
  for (const { image } of ranked.slice(0, ranked.indexOf(own))) {
    const differing = differences(own.image, image);
    if (!Object.keys(differing).some((axis) => Object.hasOwn(pins, axis))) pins = { ...pins, ...differing };
  }
  return pins;
}

function differences({ axes }: LockedImage, other: LockedImage): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(axes).filter(([axis, value]) => other.axes[axis] !== value));
}
