/** A rule: which parts of an image and of a host the rule reads, and what the rule answers. */

import type { LockedImage } from "../../lock/lock.ts";
import type { HostView } from "../host-view.ts";
import type { FitOptions } from "../resolve-options.ts";
import type { Misfit } from "../verdict.ts";

/** The part of a locked image that the rules read. */
export type ImageToFit = Pick<
  LockedImage,
  "platform" | "requires" | "measured" | "adopted" | "digest" | "local" | "axes" | "deprecated"
>;

/** Equal parts give equal answers, so that a caller with many hosts can keep them. */
export interface Rule<Image, Asked extends keyof HostView, Answer> {
  /** The part of the image that the rule reads. */
  image(image: ImageToFit): Image;
  /** The part of what `image` answers that decides, as JSON. Default: all of it. */
  imageKey?(image: Image): unknown;
  /** The parts of the host that the rule reads. */
  readonly asks: readonly Asked[];
  answer(image: Image, host: Pick<HostView, Asked>, options: FitOptions): Answer;
}

export type MisfitRule = Rule<unknown, keyof HostView, Misfit | null>;

/** Checks that `answer` reads only what the rule asks for. */
export function rule<Image, Asked extends keyof HostView, Answer>(
  given: Rule<Image, Asked, Answer>,
): Rule<Image, Asked, Answer> {
  return given;
}

/** Between two neighbours of a list a rule gives one answer, so one question for each stretch is enough. */
export interface RuleThresholds {
  /** Drivers: the answer may change at each. An unreadable version is compared with nothing. */
  readonly drivers: readonly string[];
  /** CUDA versions of drivers: the answer may change at each. */
  readonly cudas: readonly string[];
  /** The answer may change again right after each: the rule compares by `=` or `>` too. */
  readonly after: boolean;
}
