/**
 * Where one image comes before another, as a function of a node's labels. What comes before what is said by the steps of
 * resolve alone; here only on which nodes an image has which of a step's keys.
 */

import type { LockedImage } from "../../lock/lock.ts";
import { remember } from "../../oci/remember.ts";
import { compareKeys, type OrderStep, type SortKey } from "../../resolve/order-steps.ts";
import type { CodeFit } from "../../resolve/verdict.ts";
import { keys } from "../labels/vocabulary.ts";
import { always, type Node, never } from "./bdd/node.ts";
import type { CodeByCompute } from "./gpu-conditions.ts";
import type { FitMode } from "./requirement-conditions.ts";
import { type Conditions, label } from "./conditions.ts";

/** One way in which one image fits. */
export interface Contender {
  readonly cell: string;
  readonly image: LockedImage;
  readonly mode: FitMode;
}

/** The nodes on which a step has this key, of all on which the contender fits. No two keys of a step share a node. */
interface KeyedNodes {
  readonly key: SortKey;
  readonly when: Node;
}

/** Compares under the condition that both fit. */
export function createOrder(conditions: Conditions, order: readonly OrderStep[]) {
  const { bdd } = conditions;
  const steps = order.map((step) => {
    const known = new Map<string, readonly KeyedNodes[]>();
    const compared = new Map<string, Node>();
    const nodesOf = (contender: Contender) =>
      remember(known, signature(step, contender), () => keyedNodes(step, contender));
    /** Where the step puts `a` before `b`. */
    return (a: Contender, b: Contender): Node =>
      remember(compared, `${signature(step, a)}|${signature(step, b)}`, () => before(nodesOf(a), nodesOf(b)));
  });

  /** Where `a` comes before `b`. Steps are asked from the last to the first: an earlier one overrules. */
  return (a: Contender, b: Contender): Node =>
    steps.reduceRight<Node>(
      (later, first) => bdd.or(first(a, b), bdd.and(bdd.not(first(b, a)), later)),
      never,
    );

  function before(a: readonly KeyedNodes[], b: readonly KeyedNodes[]): Node {
    return bdd.or(
      ...a.flatMap((mine) => {
        const beaten = b.filter((other) => compareKeys(mine.key, other.key) < 0);
        return beaten.length === 0 ? [] : [bdd.and(mine.when, bdd.or(...beaten.map(({ when }) => when)))];
      }),
    );
  }

  function keyedNodes(step: OrderStep, { cell, image, mode }: Contender): readonly KeyedNodes[] {
    switch (step.of) {
      case "image":
        return [{ key: step.key({ cell, image, tier: mode.tier, builtFor: mode.builtFor }), when: always }];
      case "worst code":
        return mode.code.size === 0
          ? [{ key: step.key(null), when: always }]
          : byWorst(mode.code, (code) => step.key(code));
      case "used targets":
        return usedTargets(mode.code).map((when, used) => ({ key: step.key(image, used), when }));
    }
  }

  /** A key counts where some GPU has it and none has a worse one. */
  function byWorst(code: CodeByCompute, keyOf: (code: CodeFit) => SortKey): readonly KeyedNodes[] {
    const found = new Map([...code.values()].map((each) => [JSON.stringify(keyOf(each)), keyOf(each)]));
    return [...found.values()].map((key) => ({
      key,
      when: bdd.and(
        anyPresent(code, (each) => compareKeys(keyOf(each), key) === 0),
        bdd.not(anyPresent(code, (each) => compareKeys(keyOf(each), key) > 0)),
      ),
    }));
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
    return bdd.or(...computes.map((compute) => conditions.of(label.exists(keys.compute(compute)))));
  }
}

/** What a step's keys depend on: contenders of one signature share their diagrams. */
function signature(step: OrderStep, { cell, image, mode }: Contender): string {
  const codes = [...mode.code].map(([compute, { target, kind, distance }]) =>
    [compute, target, kind, distance].join(":"),
  );
  switch (step.of) {
    case "image":
      return JSON.stringify(step.key({ cell, image, tier: mode.tier, builtFor: mode.builtFor }));
    case "worst code":
      return codes.join();
    case "used targets":
      return `${step.key(image, 0)} ${codes.join()}`;
  }
}
