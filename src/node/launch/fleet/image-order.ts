/** The nodes on which one image comes before another. The steps of resolve decide the order. This file finds the nodes of each sort key. */

import type { LockedImage } from "../../../lock/lock.ts";
import { remember } from "../../../io/collections.ts";
import { compareKeys, type OrderStep, type SortKey } from "../../../resolve/order-steps.ts";
import type { CodeFit } from "../../../resolve/verdict.ts";
import type { CodeByGpu } from "./cuda-fit.ts";
import { always, type Node, never } from "./decision-diagrams.ts";
import type { FitMode } from "./fit-modes.ts";
import { type Conditions, label, lastThatHolds } from "./node-conditions.ts";

/** One way in which one image fits. */
export interface Contender extends FitMode {
  readonly cell: string;
  readonly image: LockedImage;
}

/** The sort keys that a step gives a contender, each with its nodes. No two keys share a node. */
type KeyedNodes = readonly { readonly value: SortKey; readonly when: Node }[];

/** Compares two contenders on nodes that both fit. */
export function createOrder(conditions: Conditions, order: readonly OrderStep[]) {
  const { and, or, not, ite, of } = conditions;
  const steps = order.map((step) => {
    const known = new Map<Contender, { readonly nodes: KeyedNodes; readonly name: string }>();
    const compared = new Map<string, Node>();
    const keyed = (contender: Contender) =>
      remember(known, contender, () => {
        const nodes = keyedNodes(step, contender);
        return { nodes, name: JSON.stringify(nodes) };
      });
    /** The nodes on which the step puts `a` before `b`. It compares contenders of equal keys once. */
    return (a: Contender, b: Contender): Node => {
      const [one, other] = [keyed(a), keyed(b)];
      return remember(compared, `${one.name}|${other.name}`, () => before(one.nodes, other.nodes));
    };
  });

  /** The nodes on which `a` comes before `b`. An earlier step overrules the later ones. */
  return (a: Contender, b: Contender): Node =>
    steps.reduceRight<Node>((later, first) => or(first(a, b), and(not(first(b, a)), later)), never);

  function before(a: KeyedNodes, b: KeyedNodes): Node {
    return or(
      ...a.flatMap((one) =>
        b.filter(({ value }) => compareKeys(one.value, value) < 0).map(({ when }) => and(one.when, when)),
      ),
    );
  }

  function keyedNodes(step: OrderStep, contender: Contender): KeyedNodes {
    const { image, code } = contender;
    switch (step.of) {
      case "image":
        return [{ value: step.key(contender), when: always }];
      case "worst code": {
        // The worst code of any GPU of the node counts: sorted, it is the last one present.
        const sorted = [...code.values()].map((each) => step.key(each)).sort(compareKeys);
        const tests = sorted.map(
          (key) => [key, anyPresent(code, (each) => compareKeys(step.key(each), key) === 0)] as const,
        );
        return lastThatHolds(conditions, step.key(null), tests).filter(({ when }) => when !== never);
      }
      case "used targets":
        return usedTargets(code).map((when, used) => ({ value: step.key(image, used), when }));
    }
  }

  /** The entry at n: the nodes on which exactly n of the image's targets are used. */
  function usedTargets(code: CodeByGpu): readonly Node[] {
    const targets = [...new Set([...code.values()].map(({ target }) => target))];
    let counts: readonly Node[] = [always];
    for (const target of targets) {
      const used = anyPresent(code, (each) => each.target === target);
      const fewer = counts;
      counts = [...fewer, never].map((same, count) => ite(used, fewer[count - 1] ?? never, same));
    }
    return counts;
  }

  function anyPresent(code: CodeByGpu, matches: (code: CodeFit) => boolean): Node {
    const gpus = [...code].filter(([, each]) => matches(each)).map(([gpu]) => gpu);
    return or(...gpus.map((gpu) => of(label.exists(gpu))));
  }
}
