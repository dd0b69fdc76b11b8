/** Where one image comes before another: the order of resolve, as a function of a node's labels. */

import type { LockedImage } from "../../lock/lock.ts";
import { type Candidate, type Comparator, candidateOf, comparators } from "../../resolve/rank.ts";
import { codeKinds } from "../../resolve/rules/gpu-code.ts";
import type { CodeFit } from "../../resolve/verdict.ts";
import { keys } from "../labels/vocabulary.ts";
import { always, type Node, never } from "./bdd.ts";
import type { CodeByCompute } from "./gpu-conditions.ts";
import type { FitMode } from "./requirement-conditions.ts";
import { type Words, word } from "./words.ts";

export interface Contender {
  readonly cell: string;
  readonly image: LockedImage;
  readonly mode: FitMode;
  /** Stands for it in the steps that do not look at the node. */
  readonly candidate: Candidate;
}

export function contender(cell: string, image: LockedImage, mode: FitMode): Contender {
  return { cell, image, mode, candidate: candidateOf(cell, image, { ok: true, tier: mode.tier, code: [] }) };
}

/** Compares under the condition that both fit. */
export function createOrder(words: Words, order: readonly Comparator[]) {
  const { bdd } = words;
  const codes = new Map<string, Node>();
  const counts = new Map<string, Node>();

  /** Where `a` comes before `b`. Steps are asked from the last to the first: an earlier one overrules. */
  return (a: Contender, b: Contender): Node =>
    order.reduceRight<Node>((later, step) => {
      if (step === comparators.code && a.mode.code.size > 0 && b.mode.code.size > 0)
        return bdd.or(codeBefore(a, b), bdd.and(bdd.not(codeBefore(b, a)), later));
      if (step === comparators.targets)
        return bdd.or(fewerUnused(a, b), bdd.and(bdd.not(fewerUnused(b, a)), later));
      const difference = step.compare(a.candidate, b.candidate);
      return difference < 0 ? always : difference > 0 ? never : later;
    }, never);

  /** The worst code of `a` is better than the worst of `b`: some GPU runs worse code of `b` than every GPU does of `a`. */
  function codeBefore(a: Contender, b: Contender): Node {
    const key = `${signature(a.mode.code)}|${signature(b.mode.code)}`;
    const known = codes.get(key);
    if (known !== undefined) return known;
    const ranks = [...new Set([...b.mode.code.values()].map(rankOf))];
    const node = bdd.or(
      ...ranks.map((rank) =>
        bdd.and(
          anyPresent(b.mode.code, (code) => rankOf(code) === rank),
          bdd.not(anyPresent(a.mode.code, (code) => rankOf(code) >= rank)),
        ),
      ),
    );
    codes.set(key, node);
    return node;
  }

  function fewerUnused(a: Contender, b: Contender): Node {
    const [codeA, codeB] = [codeCount(a), codeCount(b)];
    const key = `${codeA}:${signature(a.mode.code)}|${codeB}:${signature(b.mode.code)}`;
    const known = counts.get(key);
    if (known !== undefined) return known;
    const [usedA, usedB] = [usedTargets(a.mode.code), usedTargets(b.mode.code)];
    const node = bdd.or(
      ...usedA.flatMap((whenA, countA) =>
        usedB.flatMap((whenB, countB) => (codeA - countA < codeB - countB ? [bdd.and(whenA, whenB)] : [])),
      ),
    );
    counts.set(key, node);
    return node;
  }

  /** By number: where exactly so many targets of the image are used. */
  function usedTargets(code: CodeByCompute): readonly Node[] {
    const targets = [...new Set([...code.values()].map(({ target }) => target))];
    let counts: readonly Node[] = [always];
    for (const target of targets) {
      const used = anyPresent(code, (each) => each.target === target);
      const before = counts;
      counts = [...before, never].map((same, count) => bdd.ite(used, before[count - 1] ?? never, same));
    }
    return counts;
  }

  function anyPresent(code: CodeByCompute, matches: (code: CodeFit) => boolean): Node {
    const computes = [...code].filter(([, each]) => matches(each)).map(([compute]) => compute);
    return bdd.or(...computes.map((compute) => words.of(word.exists(keys.compute(compute)))));
  }
}

function codeCount({ image: { requires } }: Contender): number {
  return new Set(requires.cuda?.code ?? []).size;
}

/** As `compareCode` of resolve: the kind, then the distance. */
function rankOf({ kind, distance }: CodeFit): number {
  return codeKinds.indexOf(kind) * 100_000 + distance;
}

function signature(code: CodeByCompute): string {
  return [...code]
    .map(([compute, { target, kind, distance }]) => `${compute}:${target}:${kind}:${distance}`)
    .join();
}
