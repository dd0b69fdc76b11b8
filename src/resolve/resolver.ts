/** Resolves many hosts by one lock: each rule is asked once for all hosts and images that look the same to it. */

import type { HostFacts } from "../facts/facts.ts";
import type { Lock } from "../lock/lock.ts";
import { remember } from "../io/collections.ts";
import { type HostView, viewHost } from "./host-view.ts";
import type { AskRule } from "./check-fit.ts";
import { type Miss, nearestBy } from "./nearest.ts";
import type { ResolveImageOptions } from "./resolve-options.ts";
import { resolutionOf, prepareRanking, type Ranking, rank } from "./resolve-image.ts";
import type { ImageToFit, Rule } from "./rules/rule.ts";
import type { Misfit, Rejection, Resolution } from "./verdict.ts";

export interface Resolver {
  /** As `resolveImage`. */
  readonly resolve: (host: HostFacts) => Resolution;
  /** As `rankImages`. */
  readonly rank: (host: HostFacts) => Ranking;
  /** The first of `nearestFirst`. */
  readonly nearest: (host: HostView, rejected: readonly Pick<Rejection, "cell">[]) => Miss | null;
}

/**
 * `resolveImage` for many hosts. It keeps the answers of the rules about the last thousand kinds of CPU and of GPUs: some hundred bytes for
 * each image and each kind. Throws as `resolveImage` does.
 *
 * @example
 * const { resolve } = createResolver(lock);
 * for (const facts of hosts) console.log(resolve(facts).match?.cell);
 */
export function createResolver(lock: Lock, options: ResolveImageOptions = {}): Resolver {
  const question = prepareRanking(lock, options);
  const kept = keepAnswers();
  const rankHost = (host: HostFacts) => {
    const view = viewHost(host);
    return rank(question, host, view, kept.about(view));
  };
  return {
    rank: rankHost,
    resolve: (host) => resolutionOf(lock, rankHost(host), options),
    nearest: (view, rejected) => nearestBy(kept.about(view), lock, rejected, view, question.judge),
  };
}

/** The image of each of many hosts, by one lock. */
export interface HostResolution extends Resolution {
  /** The host's name. */
  readonly host: string;
  /** The reason against the nearest image, for a host without one; null if it has one, or the lock has none. */
  readonly nearest: (Misfit & { readonly cell: string }) | null;
}

/** In the order of the hosts. Throws as `resolveImage`. */
export function resolveHosts(
  lock: Lock,
  hosts: readonly { readonly name: string; readonly facts: HostFacts }[],
  options: ResolveImageOptions = {},
): readonly HostResolution[] {
  const resolver = createResolver(lock, options);
  return hosts.map(({ name, facts }) => {
    const ranking = resolver.rank(facts);
    const resolution = resolutionOf(lock, ranking, options);
    const miss = resolution.match === null ? resolver.nearest(ranking.view, resolution.rejected) : null;
    const [first] = miss?.misfits ?? [];
    const nearest = miss === null || first === undefined ? null : { cell: miss.cell, ...first };
    return { host: name, ...resolution, nearest };
  });
}

/** Kinds of hosts whose answers are kept for one rule. */
const mostKinds = 1000;

/** Answers by the number of the image's kind. */
type Answers = { readonly answer: unknown }[];

interface KeptRule {
  readonly imageKinds: Map<ImageToFit, number>;
  readonly numbers: Map<string, number>;
  readonly hosts: Map<string, Answers>;
}

/** Keeps the answers of rules. The options are the same each time. */
function keepAnswers(): { readonly about: (host: HostView) => AskRule } {
  const rules = new Map<object, KeptRule>();
  const keptOf = (rule: object): KeptRule =>
    remember(rules, rule, () => ({ imageKinds: new Map(), numbers: new Map(), hosts: new Map() }));
  return {
    about: (host) => {
      const pending = new Map<object, { readonly kept: KeptRule; readonly answers: Answers }>();
      return (rule, image, view, options) => {
        const { kept, answers } = remember(pending, rule, () => {
          const kept = keptOf(rule);
          return { kept, answers: answersOf(kept, keyOfHost(host, rule.asks)) };
        });
        const kind = kindOf(kept, rule, image);
        const found = answers[kind];
        if (found !== undefined) return found.answer as ReturnType<typeof rule.answer>;
        const answer = rule.answer(rule.image(image), view, options);
        answers[kind] = { answer };
        return answer;
      };
    },
  };
}

function answersOf({ hosts }: KeptRule, key: string): Answers {
  return remember(hosts, key, () => {
    if (hosts.size >= mostKinds) hosts.clear();
    return [];
  });
}

function kindOf<Image>(
  { imageKinds, numbers }: KeptRule,
  rule: Pick<Rule<Image, never, unknown>, "image" | "imageKey">,
  image: ImageToFit,
): number {
  return remember(imageKinds, image, () => {
    const part = rule.image(image);
    const key = JSON.stringify(rule.imageKey === undefined ? part : rule.imageKey(part)) ?? "";
    return remember(numbers, key, () => numbers.size);
  });
}

function keyOfHost(host: HostView, asked: readonly (keyof HostView)[]): string {
  return JSON.stringify(
    asked.map((name) => host[name]),
    (_, value: unknown) => (value instanceof Set ? [...value] : value),
  );
}
