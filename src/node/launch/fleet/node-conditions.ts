/** Conditions on the labels of a node, as variables of decision diagrams, and the facts that hold on every node. */

import { findMarch, marchesOn, marchPlatform } from "../../../hardware/cpu-marches.ts";
import { keys } from "../labels/vocabulary.ts";
import { always, createDiagrams, type Diagrams, type Node } from "./decision-diagrams.ts";

export type Condition =
  | { readonly kind: "exists"; readonly key: string }
  | { readonly kind: "is"; readonly key: string; readonly value: string }
  /** Every node has the number, so its opposite is "less". */
  | { readonly kind: "atLeast"; readonly key: string; readonly number: number };

export interface Conditions extends Diagrams {
  readonly of: (condition: Condition) => Node;
  /** The conditions so far, by the names of their variables. */
  readonly byVariable: ReadonlyMap<string, Condition>;
}

export const label = {
  exists: (key: string): Condition => ({ kind: "exists", key }),
  is: (key: string, value: string): Condition => ({ kind: "is", key, value }),
  atLeast: (key: string, number: number): Condition => ({ kind: "atLeast", key, number }),
} as const;

/** With `devicesLast` the diagrams test facts of a device after facts of the node. */
export function createConditions({ devicesLast = false } = {}): Conditions {
  const diagrams = createDiagrams();
  const order = devicesLast ? deviceOrder : keyOrder;
  const byVariable = new Map<string, Condition>();
  return {
    ...diagrams,
    byVariable,
    of: (condition) => {
      const name = variableName(condition, order);
      byVariable.set(name, condition);
      return diagrams.variable(name);
    },
  };
}

/** Each value with the nodes on which its test is the last that holds, then `otherwise` with the nodes on which none holds. */
export function lastThatHolds<Value>(
  { and, not }: Diagrams,
  otherwise: Value,
  tests: readonly (readonly [value: Value, holds: Node])[],
): readonly { readonly value: Value; readonly when: Node }[] {
  let noneLater = always;
  const found = [...tests].reverse().map(([value, holds]) => {
    const when = and(holds, noneLater);
    noneLater = and(noneLater, not(holds));
    return { value, when };
  });
  return [...found, { value: otherwise, when: noneLater }];
}

/**
 * Every node that can exist, as far as the conditions so far tell: a number of at least 5 is at least 3, a key has one value, a node that runs
 * broadwell runs haswell and has its features, a node with usable GPUs has a GPU.
 */
export function possibleNodes({ byVariable, of, and, or, not }: Conditions): Node {
  const all = [...byVariable.values()];
  const facts = all.flatMap((one) => {
    const unless = not(of(one));
    const implied = impliedBy(one);
    return all.flatMap((other) => {
      if (implied(other)) return [or(unless, of(other))];
      return excludes(one, other) ? [or(unless, not(of(other)))] : [];
    });
  });
  const computes = all.filter(({ key }) => key.startsWith(keys.compute("")));
  const gpu = computes.length === 0 ? always : or(not(of(label.exists(keys.gpuUsable))), ...computes.map(of));
  return and(gpu, ...facts);
}

function impliedBy(one: Condition): (other: Condition) => boolean {
  if (one.kind === "atLeast")
    return (other) => other.kind === "atLeast" && other.key === one.key && other.number < one.number;
  const march = one.key.startsWith(keys.march("")) ? findMarch(one.key.slice(keys.march("").length)) : null;
  if (march === null) return () => false;
  const has = new Set(march.features);
  // Marches of other architectures have other features.
  const marches = marchesOn(marchPlatform(march)).filter(({ features }) =>
    features.every((each) => has.has(each)),
  );
  const implied = new Set([
    ...march.features.map(keys.feature),
    ...marches.map(({ name }) => keys.march(name)).filter((name) => name !== one.key),
  ]);
  return ({ key }) => implied.has(key);
}

function excludes(one: Condition, other: Condition): boolean {
  return one.kind === "is" && other.kind === "is" && one.key === other.key && one.value < other.value;
}

/** Platform and CPU, then the driver, then the GPUs. A key that ends with a dot is a prefix. */
const keyOrder: readonly string[] = [
  keys.platform,
  keys.broken,
  keys.gpuUnknown,
  keys.march(""),
  keys.feature(""),
  keys.kernelNumber,
  keys.gpuUsable,
  keys.driverScale,
  keys.forwardCompat,
  keys.compatAdds,
  keys.hostFirst,
  keys.driverNumber,
  keys.cudaNumber,
  keys.runtime,
  "gpu.",
];

/** Keys of the facts that a device publishes as attributes. */
const deviceKeys = [keys.driverNumber, keys.cudaNumber, keys.compute(""), amdKey("")];

export function isOfDevice({ key }: Pick<Condition, "key">): boolean {
  return deviceKeys.some(covers(key));
}

const deviceOrder = [...keyOrder.filter((key) => !deviceKeys.includes(key)), ...deviceKeys];

/** The key of an AMD target. No label has it: only devices tell it. */
export function amdKey(name: string): string {
  return `amd.${name}`;
}

function covers(key: string): (each: string) => boolean {
  return (each) => (each.endsWith(".") ? key.startsWith(each) : key === each);
}

/** Names sort in the order of the tests. The variables of one key stand side by side, which keeps the diagrams small. */
function variableName(condition: Condition, order: readonly string[]): string {
  const { key } = condition;
  const closest = order
    .filter(covers(key))
    .reduce((best, each) => (each.length > best.length ? each : best), "");
  const place = order.indexOf(closest);
  return `${String(place).padStart(2, "0")} ${key} ${valueText(condition)}`;
}

function valueText(condition: Condition): string {
  switch (condition.kind) {
    case "exists":
      return "";
    case "is":
      return condition.value;
    case "atLeast":
      // Every number that a double holds exactly has at most 16 digits.
      return String(condition.number).padStart(16, "0");
  }
}
