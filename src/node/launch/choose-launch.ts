/** Chooses the image of a launch on this host, and its GPUs. */

import { needsGpus, type Requirement, vendorsOf } from "../../lock/requirement.ts";
import type { HostFacts } from "../../facts/facts.ts";
import { readHostOf, readPairsOf } from "../../host/probe.ts";
import type { Lock } from "../../lock/lock.ts";
import { noMatch } from "../../resolve/nearest.ts";
import {
  immutableReferenceOf,
  type Candidate,
  type ResolveImageOptions,
} from "../../resolve/resolve-image.ts";
import { findUnasked, type Unasked } from "../../resolve/unasked.ts";
import type { Resolution } from "../../resolve/verdict.ts";
import { joinedBy, joinedLine, type Joined } from "./gpu-pairs.ts";
import {
  chooseGpus,
  gpuCount,
  gpuWish,
  metRequirement,
  scheduledGpus,
  type GpuChoice,
} from "./choose-gpus.ts";
import { imageValue, questionKeys } from "./labels/image-labels.ts";
import type { LaunchRequest, LaunchTarget } from "./target.ts";

export interface LaunchChoiceOptions extends ResolveImageOptions {
  /** `--gpus`: how many, which ones, `all` or `none`. Default: all. */
  readonly gpus?: string | undefined;
  /** Hand out busy GPUs too. */
  readonly allowBusy?: boolean | undefined;
  /** Do not restrict it to nodes that advertise the image. */
  readonly anywhere?: boolean | undefined;
}

export interface LaunchChoice {
  readonly ok: true;
  readonly cell: string;
  /** The part of the request that image and host decide. */
  readonly request: Pick<LaunchRequest, "reference" | "requires" | "host" | "units" | "node">;
  /** How several GPUs that imgmatch picked by their number are joined; undefined for one, and for GPUs that were named. */
  readonly joined: Joined | undefined;
  /** Choices that nobody asked for. */
  readonly unasked: Unasked;
  /** Problems of the image. */
  readonly problems: Resolution["problems"];
}

/**
 * Picks GPUs and image together. Not `ok` if wanted GPUs are busy or missing. Throws `NO_MATCH` or `HOST_BROKEN` if no image fits,
 * `LAUNCH_UNSUPPORTED` for options that the target cannot express, `USAGE` and `SELECTION_INVALID` for GPUs that do not exist.
 *
 * @example
 * const choice = chooseLaunch(launchTargets.docker, lock, facts, { gpus: "2" });
 * if (choice.ok) launchTargets.docker.launch({ ...choice.request, args: [] });
 */
export function chooseLaunch(
  target: Pick<LaunchTarget, "name" | "gpus">,
  lock: Lock,
  host: HostFacts,
  { gpus, allowBusy = false, anywhere = false, ...options }: LaunchChoiceOptions = {},
): LaunchChoice | Extract<GpuChoice, { readonly ok: false }> {
  const choice =
    target.gpus === "scheduler"
      ? scheduledGpus(lock, host, gpus, target.name, options)
      : chooseGpus(lock, host, gpuWish(host, gpus), { ...options, allowBusy });
  if (!choice.ok) return choice;
  const { ranking } = choice;
  const winner = winnerOf(choice, gpus, lock, options);
  const { image } = winner;
  // A user who asked for GPUs passed over the images before the winner.
  const ranked = ranking.ranked.slice(ranking.ranked.indexOf(winner));
  const requires = metRequirement(winner);
  const [vendor] = vendorsOf(requires);
  // A scheduler that is asked for a number may give any of a node's GPUs.
  const key = questionKeys(lock, { ...options, ...(gpus === "none" ? { gpus } : {}) }).image;
  const units = choice.units.filter((unit) => unit.vendor === vendor);
  const isPicked = target.gpus === "imgmatch" && gpuCount(gpus) !== null && units.length > 1;
  return {
    ok: true,
    cell: winner.cell,
    request: {
      reference: immutableReferenceOf(lock, image),
      requires,
      host: choice.host,
      units,
      node: anywhere ? null : { key, value: imageValue(lock, winner.cell) },
    },
    joined: isPicked ? joinedBy(units) : undefined,
    unasked: findUnasked(lock, { ...ranking, ranked }, options),
    problems: ranking.problems.filter(({ code }) => !code.startsWith("HOST_")),
  };
}

/** The reader of the host: who picks several of its GPUs asks how they are joined. */
export function hostReader({ gpus: chooser }: Pick<LaunchTarget, "gpus">, gpus: string | undefined) {
  return chooser === "imgmatch" && (gpuCount(gpus) ?? 0) > 1 ? readPairsOf : readHostOf;
}

export function joinedLines({ joined, request }: LaunchChoice): readonly string[] {
  return joined === undefined ? [] : [joinedLine(request.units ?? [])];
}

/** The best image for these GPUs. For a user who asks for some, only an image with GPU code is an answer. */
function winnerOf(
  { ranking }: Extract<GpuChoice, { readonly ok: true }>,
  gpus: string | undefined,
  lock: Lock,
  options: ResolveImageOptions,
): Candidate {
  const wantsGpus = gpus !== undefined && gpus !== "all" && gpus !== "none";
  const uses = (requires: Requirement | undefined) =>
    !wantsGpus || requires === undefined || needsGpus(requires);
  const winner = ranking.ranked.find(({ image }) => uses(image.requires));
  if (winner !== undefined) return winner;
  const rejected = ranking.rejected.filter(({ cell }) => uses(lock.images[cell]?.requires));
  throw noMatch(lock, { rejected, view: ranking.view }, options);
}
