/** All that stands between a host and one image of a lock. */

import { type Watching, type World, worldOf } from "../io/world.ts";
import type { SignedBy } from "../lock/index-trust.ts";
import { type WhyNot, whyNotImage } from "../resolve/why-not-image.ts";
import { type QuestionOptions, readFleetQuestion, readQuestion } from "./question.ts";
import { readNamedHosts, refuseSingle } from "./many-hosts.ts";

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
 * Names every reason against one image, or its place among those that fit. Throws as `resolve`, and `CELL_NOT_FOUND`.
 *
 * @example
 * const { fits, reasons } = await whyNot({ image: "12.8.1_9.0a_sapphirerapids" });
 */
export async function whyNot(
  options: WhyNotOptions & { readonly hosts: readonly [string, ...string[]] },
  world?: Partial<World>,
): Promise<readonly HostWhyNot[]>;
export async function whyNot(
  options: Omit<WhyNotOptions, "hosts">,
  world?: Partial<World>,
): Promise<WhyNotAnswer>;
export async function whyNot(
  asked: WhyNotOptions,
  given?: Partial<World>,
): Promise<WhyNotAnswer | readonly HostWhyNot[]> {
  const world = worldOf(asked, given);
  if ((asked.hosts ?? []).length === 0) {
    const { lock, host, options, signed } = await readQuestion(asked, world);
    const answer = whyNotImage(lock, asked.image, host, options);
    return signed === null ? answer : { ...answer, signed };
  }
  refuseSingle(asked);
  const { lock, options } = await readFleetQuestion(asked, world);
  const hosts = await readNamedHosts(asked, world);
  return hosts.map(({ name, facts }) => ({ host: name, ...whyNotImage(lock, asked.image, facts, options) }));
}
