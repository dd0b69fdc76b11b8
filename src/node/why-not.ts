/** `imgmatch why-not`: every reason against one image of a lock on a host. */

import { inWorld, type Watching, type World } from "../io/world.ts";
import type { SignedBy } from "../lock/store/index-trust.ts";
import { type WhyNot, whyNotImage } from "../resolve/why-not-image.ts";
import {
  type QuestionOptions,
  readFleetQuestion,
  readQuestion,
  type NodePorts,
  type NodeWorld,
} from "./question.ts";
import { readNamedHosts, refuseSingle } from "./many-hosts.ts";
import { needsOf, noteUnlisted } from "./unlisted.ts";

export interface WhyNotOptions extends Omit<QuestionOptions, "reference" | "explain">, Watching {
  /** Cell, tag or reference. */
  readonly image: string;
  /** Many hosts in place of one: files, folders, or `-` for standard input. */
  readonly hosts?: readonly string[];
}

export interface WhyNotAnswer extends WhyNot {
  readonly signed?: SignedBy;
}

export interface HostWhyNot extends WhyNot {
  /** The host's name. */
  readonly host: string;
}

/**
 * Names every reason against an image, or its place among the images that fit. Throws as `resolve`, and `CELL_NOT_FOUND`.
 *
 * @example
 * const { fits, reasons } = await whyNot({ image: "12.8.1_9.0a_sapphirerapids" });
 */
export interface WhyNotFunction {
  (
    options: WhyNotOptions & { readonly hosts: readonly [string, ...string[]] },
    world?: Partial<World>,
  ): Promise<readonly HostWhyNot[]>;
  (options: Omit<WhyNotOptions, "hosts">, world?: Partial<World>): Promise<WhyNotAnswer>;
}

export function whyNotWith(ports: NodePorts): WhyNotFunction {
  const face = (
    options: WhyNotOptions,
    given?: Partial<World>,
  ): Promise<WhyNotAnswer | readonly HostWhyNot[]> =>
    inWorld(options, given, (world) => whyNotIn(options, world), ports);
  return face as WhyNotFunction;
}

async function whyNotIn(
  options: WhyNotOptions,
  world: NodeWorld,
): Promise<WhyNotAnswer | readonly HostWhyNot[]> {
  const { image } = options;
  if ((options.hosts ?? []).length === 0) {
    const question = await readQuestion(options, world);
    const answer = whyNotImage(question.lock, image, question.host, question.options);
    return question.signed === null ? answer : { ...answer, signed: question.signed };
  }
  refuseSingle(options);
  const question = await readFleetQuestion(options, world);
  const hosts = await readNamedHosts(options, world);
  await noteUnlisted(
    world,
    hosts.map(({ facts }) => facts),
    needsOf(question.lock),
  );
  return hosts.map(({ name, facts }) => ({
    host: name,
    ...whyNotImage(question.lock, image, facts, question.options),
  }));
}
