/** Sorts the images that fit by named steps, and names the step that decided. */

import { usageError } from "../errors.ts";
import {
  compareAllKeys,
  keyOf,
  type Ordered,
  type OrderStep,
  orderSteps,
  preferredValue,
} from "./order-steps.ts";

/**
 * The order with the preferred steps first. A preference is the name of a step (`toolkit`) or `axis=value`, which puts the
 * images of that value first. Throws `USAGE` for anything else.
 */
export function orderBy(prefer: readonly string[] = []): readonly OrderStep[] {
  const first = prefer.map(
    (name): OrderStep => (isStepName(name) ? orderSteps[name] : parsePreference(name)),
  );
  return [...first, ...Object.values(orderSteps).filter((step) => !first.includes(step))];
}

/** Best first. Keys are made once: a lock of thousands needs a hundred thousand comparisons. */
export function sortCandidates<Each extends Ordered>(
  order: readonly OrderStep[],
  candidates: readonly Each[],
): readonly Each[] {
  return candidates
    .map((candidate) => ({ candidate, keys: order.map((step) => keyOf(step, candidate)) }))
    .sort((a, b) => compareAllKeys(a.keys, b.keys))
    .map(({ candidate }) => candidate);
}

/** Negative when `a` is the better one. */
export function compareCandidates(order: readonly OrderStep[], a: Ordered, b: Ordered): number {
  const keysOf = (each: Ordered) => order.map((step) => keyOf(step, each));
  return compareAllKeys(keysOf(a), keysOf(b));
}

/** The first step that put `winner` before `other`. */
export function decisiveStep(order: readonly OrderStep[], winner: Ordered, other: Ordered): OrderStep {
  return order.find((step) => compareCandidates([step], winner, other) !== 0) ?? orderSteps.tag;
}

/** `newer toolkit: 12.8.1 before 12.4.1`. */
export function explainOrder(order: readonly OrderStep[], winner: Ordered, other: Ordered): string {
  const step = decisiveStep(order, winner, other);
  return `${step.name}: ${step.show(winner)} before ${step.show(other)}`;
}

function parsePreference(text: string): OrderStep {
  const equals = text.indexOf("=");
  if (equals < 1) {
    throw usageError(
      `prefer "${text}" is no step of the order`,
      `use axis=value or one of: ${Object.keys(orderSteps).join(", ")}`,
    );
  }
  return preferredValue(text.slice(0, equals), text.slice(equals + 1));
}

function isStepName(name: string): name is keyof typeof orderSteps {
  return Object.hasOwn(orderSteps, name);
}
