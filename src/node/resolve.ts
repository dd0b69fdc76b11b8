/** `imgmatch resolve`: the image that was built for a host, or for each of many. */

import { type DriverQuestion, otherHost } from "../host/probe.ts";
import { resolutionOf, rankImages } from "../resolve/resolve-image.ts";
import type { HostResolution } from "../resolve/resolver.ts";
import {
  requireMatch,
  readQuestion,
  type AgeChoice,
  type QuestionOptions,
  type NodePorts,
  type NodeWorld,
} from "./question.ts";
import { inWorld, note, type Watching, type World } from "../io/world.ts";
import type { SignedBy } from "../lock/store/index-trust.ts";
import type { ImmutableReference } from "../oci/immutable-reference.ts";
import { unaskedLines } from "../resolve/answer-lines.ts";
import type { Resolution } from "../resolve/verdict.ts";

export interface ResolveOptions extends QuestionOptions, DriverQuestion, AgeChoice, Watching {
  /** Many hosts in place of one: files, folders, or `-` for standard input. */
  readonly hosts?: readonly string[];
}

/** If no image fits, `reference` throws `NO_MATCH` with the nearest images, or `HOST_BROKEN`, and the JSON has no `reference`. */
export interface ResolveAnswer extends Resolution {
  readonly reference: ImmutableReference;
  /** The fleet's signers, if a signature is required. */
  readonly signed?: SignedBy;
}

/**
 * Finds the image that was built for this host, in a lock or in a registry's fleet. `hosts` answers for each of many hosts.
 *
 * Throws `USAGE`, `LOCK_…`, `FACTS_…`, `REGISTRY_…`, `SIGNATURE_…`; a host that no image fits is an answer.
 *
 * @example
 * const { reference } = await resolve({ pin: ["tensorflow=1.12.0"] });
 */
export interface ResolveFunction {
  (
    options: ResolveOptions & { readonly hosts: readonly [string, ...string[]] },
    world?: Partial<World>,
  ): Promise<readonly HostResolution[]>;
  (
    options?: QuestionOptions & DriverQuestion & AgeChoice & Watching,
    world?: Partial<World>,
  ): Promise<ResolveAnswer>;
}

export function resolveWith(ports: NodePorts): ResolveFunction {
  const face = (
    options: ResolveOptions = {},
    given?: Partial<World>,
  ): Promise<ResolveAnswer | readonly HostResolution[]> =>
    inWorld(options, given, (world) => resolveIn(options, world), ports);
  return face as ResolveFunction;
}

async function resolveIn(
  options: ResolveOptions,
  world: NodeWorld,
): Promise<ResolveAnswer | readonly HostResolution[]> {
  if (options.askDriver && (otherHost(options) !== null || (options.hosts ?? []).length > 0))
    throw (await import("../host/ask-start.ts")).notHere();
  if ((options.hosts ?? []).length === 0) return resolveOne(options, world);
  const { resolveEach } = await import("./many-hosts.ts");
  return resolveEach(options, world);
}

async function resolveOne(options: ResolveOptions, world: NodeWorld): Promise<ResolveAnswer> {
  const question = await readQuestion(options, world);
  const { lock, host, signed } = question;
  const ranking = rankImages(lock, host, question.options);
  const resolution = resolutionOf(lock, ranking, question.options);
  note(world, unaskedLines(resolution));
  if (options.explain) {
    const { explainRanking } = await import("./explain.ts");
    note(world, explainRanking(lock, host, ranking, question.options));
  }
  const answer = signed === null ? resolution : { ...resolution, signed };
  // A getter: only a reader waits for the reasons against the images. Without a match neither JSON nor a log reads the reference.
  const get = () => requireMatch(resolution, ranking, question, options).reference;
  const { match } = resolution;
  const reference = match === null ? { get } : { value: match.reference, enumerable: true };
  return Object.defineProperty(answer, "reference", reference) as ResolveAnswer;
}
