/** Sorts the images that fit by named steps, and names the step that decided. */

import { usageError } from "../errors.ts";
import { groupBy } from "../io/collections.ts";
import {
  compareAllKeys,
  compareKeys,
  keyOf,
  type Ordered,
  type OrderStep,
  orderSteps,
  preferredValue,
  spellKey,
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

/** Best first. Each step splits what the steps before it left together: a lock of thousands would need a hundred thousand comparisons. */
export function sortCandidates<Each extends Ordered>(
  [step, ...later]: readonly OrderStep[],
  candidates: readonly Each[],
): readonly Each[] {
  if (step === undefined || candidates.length < 2) return candidates;
  const keyed = candidates.map((candidate) => ({ candidate, key: keyOf(step, candidate) }));
  const groups = [...groupBy(keyed, ({ key }) => spellKey(key)).values()];
  const sorted = groups.sort(([a], [b]) => compareKeys(a?.key ?? [], b?.key ?? []));
  return sorted.flatMap((group) =>
    sortCandidates(
      later,
      group.map(({ candidate }) => candidate),
    ),
  );
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
