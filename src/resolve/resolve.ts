/** Which image of a lock fits a host best, and why the others do not. */

import { InternalError } from "../errors.ts";
import type { HostFacts } from "../host/facts.ts";
import type { Lock, LockedImage } from "../lock/lock.ts";
import { type ImmutableReference, immutableReference } from "../oci/immutable-reference.ts";
import { viewHost } from "./host-view.ts";
import { judgeView } from "./judge.ts";
import type { Candidate, OrderStep } from "./order-steps.ts";
import { type Pin, plainPins, requireKnownAxes } from "./pins.ts";
import { explainOrder, orderBy, sortCandidates } from "./rank.ts";
import { noteNvidiaRequire } from "./rules/nvidia-require.ts";
import { type Rejection, type Resolution, resolutionSchemaVersion } from "./verdict.ts";

export type { Candidate } from "./order-steps.ts";

export interface ResolveOptions {
  /** Axis → value. Text is exact, a version prefix or a pattern with `*`; ranges come from `compilePins`. */
  readonly pins?: Readonly<Record<string, string | Pin>>;
  /** Only images without GPU code, also on a host whose GPUs are broken. */
  readonly cpuOnly?: boolean;
  /** Steps of the order to look at first, in place of the lock's own: see `orderBy`. */
  readonly prefer?: readonly string[];
}

export interface Ranking {
  /** Images that fit, best first. */
  readonly ranked: readonly Candidate[];
  /** The others, by cell. */
  readonly rejected: readonly Rejection[];
  readonly problems: Resolution["problems"];
  readonly order: readonly OrderStep[];
}

/**
 * Picks the one image that fits the host best.
 * Throws `PIN_UNKNOWN` for a pin on an axis that no image has, `USAGE` for an unknown preference.
 *
 * @example
 * const { match, rejected } = resolveImage(lock, facts, { pins: { tensorflow: "1.12.0" } });
 * console.log(match?.reference ?? rejected);
 */
export function resolveImage(lock: Lock, host: HostFacts, options: ResolveOptions = {}): Resolution {
  const { ranked, rejected, problems, order } = rankImages(lock, host, options);
  const [winner, next] = ranked;
  return {
    schemaVersion: resolutionSchemaVersion,
    match:
      winner === undefined
        ? null
        : {
            cell: winner.cell,
            reference: immutableReferenceOf(lock, winner.image),
            tier: winner.fit.tier,
            reasons: [next === undefined ? "the only image that fits" : explainOrder(order, winner, next)],
          },
    rejected,
    problems,
  };
}

/** Judges every image and puts those that fit in their total order. Throws as {@link resolveImage} does. */
export function rankImages(lock: Lock, host: HostFacts, options: ResolveOptions = {}): Ranking {
  const view = viewHost(host);
  const pins = plainPins(options.pins ?? {});
  const order = orderBy(options.prefer ?? lock.prefer);
  const cells = Object.entries(lock.images).sort(([a], [b]) => (a < b ? -1 : 1));
  requireKnownAxes(pins, lock.images);

  const fits: Candidate[] = [];
  const rejected: Rejection[] = [];
  for (const [cell, image] of cells) {
    const verdict = judgeView(image, view, { pins, cpuOnly: options.cpuOnly ?? false });
    if (verdict.ok) fits.push({ cell, image, fit: verdict });
    else rejected.push({ cell, code: verdict.code, message: verdict.message, fix: verdict.fix });
  }
  const ranked = sortCandidates(order, fits);
  const winnersCuda = ranked[0]?.image.requires.cuda ?? null;
  const note = winnersCuda === null ? null : noteNvidiaRequire(winnersCuda, view);
  const notes =
    note === null
      ? []
      : [
          {
            code: note.code,
            message: `${note.message}; this host's container runtime does not check it`,
            fix: note.fix,
          },
        ];
  return { ranked, rejected, problems: [...host.problems, ...notes], order };
}

/** `repo:tag@sha256:…`; the digest alone decides what is pulled. Without it for an image that was never built. */
export function referenceOf(lock: Lock, image: Pick<LockedImage, "tag" | "digest">): string {
  return image.digest === null ? `${lock.repository}:${image.tag}` : immutableReferenceOf(lock, image);
}

/** The same for an image that is built: only such an image fits a host. */
export function immutableReferenceOf(
  lock: Lock,
  { tag, digest }: Pick<LockedImage, "tag" | "digest">,
): ImmutableReference {
  if (digest === null) throw new InternalError(`${tag} was chosen and is not built`);
  return immutableReference(lock.repository, tag, digest);
}
