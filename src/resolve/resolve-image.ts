/** Picks the image of a lock that fits a host best, and says why the others do not. */

import { type ImgmatchError, InternalError, usageError } from "../errors.ts";
import type { HostFacts } from "../facts/facts.ts";
import { answerOfSide, type BySide, sidesOf } from "../lock/requirement.ts";
import { repositoryOf } from "../lock/image-repository.ts";
import { chosenNames, imageAs } from "../lock/alternatives.ts";
import type { Lock, LockedImage } from "../lock/lock.ts";
import { type ImmutableReference, immutableReference, localReference } from "../oci/immutable-reference.ts";
import { sortedEntries } from "../io/collections.ts";
import { describeMeasured } from "./describe-measured.ts";
import { type HostView, viewHost } from "./host-view.ts";
import { askWithoutCache, type AskRule, checkFitBy, withWorkingCures } from "./check-fit.ts";
import type { Candidate, OrderStep } from "./order-steps.ts";
import { requireKnownAxes } from "./pins.ts";
import { explainOrder, orderBy, sortCandidates } from "./rank.ts";
import { type FitOptions, fitOptions, type ResolveImageOptions } from "./resolve-options.ts";
import { noteNvidiaRequire } from "./rules/nvidia/nvidia-require.ts";
import { findUnasked, type RankedImages } from "./unasked.ts";
import {
  type Match,
  type Misfit,
  type Rejection,
  type Resolution,
  resolutionSchemaVersion,
} from "./verdict.ts";

export type { ResolveImageOptions } from "./resolve-options.ts";
export type { Candidate } from "./order-steps.ts";

export interface Ranking extends RankedImages {
  readonly problems: Resolution["problems"];
}

/** Picks the one image that fits the host best. Throws `PIN_UNKNOWN` for a pin on an axis that no image has, `USAGE` for what contradicts itself. */
export function resolveImage(lock: Lock, host: HostFacts, options: ResolveImageOptions = {}): Resolution {
  return resolutionOf(lock, rankImages(lock, host, options), options);
}

/** Turns a ranking into the answer for one host. */
export function resolutionOf(lock: Lock, ranking: Ranking, options: ResolveImageOptions): Resolution {
  return {
    schemaVersion: resolutionSchemaVersion,
    match: matchOf(lock, ranking),
    rejected: ranking.rejected,
    problems: ranking.problems,
    ...findUnasked(lock, ranking, options),
  };
}

function matchOf(lock: Lock, { ranked: [winner, next], order }: Ranking): Match | null {
  if (winner === undefined) return null;
  const { cell, image, fit } = winner;
  const measured = describeMeasured(image);
  return {
    cell,
    reference: immutableReferenceOf(lock, image),
    ...(image.digest === null && image.local !== undefined ? { local: image.local.engine } : {}),
    tier: fit.tier,
    ...(fit.as === undefined ? {} : { by: chosenNames(fit.as) }),
    ...(measured === null ? {} : { measured }),
    ...(image.deprecated !== undefined && { deprecated: image.deprecated }),
    reasons: [next === undefined ? "the only image that fits" : explainOrder(order, winner, next)],
  };
}

/** Judges every image, and puts the images that fit in a total order. Throws as {@link resolveImage} does. */
export function rankImages(lock: Lock, host: HostFacts, options: ResolveImageOptions = {}): Ranking {
  return rank(prepareRanking(lock, options), host, viewHost(host), askWithoutCache);
}

/** The part of a question that is the same for every host. */
interface PreparedRanking {
  readonly judge: FitOptions;
  readonly order: readonly OrderStep[];
  /** In the order of their names. */
  readonly cells: readonly (readonly [string, LockedImage])[];
}

/** Throws as {@link resolveImage} does. */
export function prepareRanking(lock: Lock, options: ResolveImageOptions): PreparedRanking {
  if (options.cpuOnly === true && options.requireGpu === true) throw twoKinds();
  const order = orderBy(options.prefer ?? lock.prefer);
  const judge = { ...fitOptions(lock, options), order };
  const cells = sortedEntries(lock.images);
  requireKnownAxes(judge.pins, lock.images);
  return { judge, order, cells };
}

/** Turns verdicts into places. The fix against a rejected image is worked out when somebody reads it. */
export function rank(
  { order, cells, judge }: PreparedRanking,
  host: HostFacts,
  view: HostView,
  ask: AskRule,
): Ranking {
  const fits: Candidate[] = [];
  const rejected: Rejection[] = [];
  for (const [cell, image] of cells) {
    const verdict = checkFitBy(ask, image, view, judge);
    if (verdict.ok)
      fits.push({ cell, image: verdict.as === undefined ? image : imageAs(image, verdict.as), fit: verdict });
    else rejected.push(rejectionOf({ cell, image, misfit: verdict }, view, judge));
  }
  const ranked = sortCandidates(order, fits);
  return {
    view,
    ranked,
    rejected,
    problems: [...host.problems, ...uncheckedConditions(ranked, view)],
    order,
  };
}

/** Conditions of the winner's base that fail, and that nothing on the host checks. */
const unchecked: BySide<Misfit | null, [view: HostView]> = { nvidia: noteNvidiaRequire, amd: () => null };

function uncheckedConditions([winner]: readonly Candidate[], view: HostView): Resolution["problems"] {
  const found = winner === undefined ? [] : sidesOf(winner.image.requires);
  return found
    .flatMap((side) => answerOfSide(unchecked, side, view) ?? [])
    .map(({ code, message, fix }) => ({
      code,
      message: `${message}; this host's container runtime does not check it`,
      fix,
    }));
}

interface Refused {
  readonly cell: string;
  readonly image: LockedImage;
  readonly misfit: Misfit;
}

/** The fix is worked out when it is read, as a misfit's is: that asks the rules again. */
function rejectionOf({ cell, image, misfit }: Refused, view: HostView, judge: FitOptions): Rejection {
  return {
    cell,
    code: misfit.code,
    message: misfit.message,
    get fix() {
      return withWorkingCures(misfit, image, view, judge).fix;
    },
  };
}

/** `--cpu` and `--require-gpu` exclude each other. */
export function twoKinds(): ImgmatchError {
  return usageError(
    "--cpu asks for an image without GPU code, --require-gpu for one with",
    "leave one of them out",
  );
}

/** `repo:tag@sha256:…`: the digest alone decides what is pulled. An image that was never built has none. */
export function referenceOf(lock: Lock, image: Pick<LockedImage, "repository" | "tag" | "digest">): string {
  return image.digest === null
    ? `${repositoryOf(lock, image)}:${image.tag}`
    : immutableReferenceOf(lock, image);
}

/** The same for an image that is built, as every image that fits is. */
export function immutableReferenceOf(
  lock: Lock,
  image: Pick<LockedImage, "repository" | "tag" | "digest" | "local">,
): ImmutableReference {
  const { tag, digest, local } = image;
  if (digest === null && local !== undefined) return localReference(local.id);
  if (digest === null) throw new InternalError(`${tag} was chosen and is not built`);
  return immutableReference(repositoryOf(lock, image), tag, digest);
}
