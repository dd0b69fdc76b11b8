/** Conditions on one label of a node, and the functions that are built from them. */

import { compareText } from "../../oci/text-order.ts";
import { keys } from "../labels/vocabulary.ts";
import type { Bdd } from "./bdd/bdd.ts";
import { always, type Node } from "./bdd/node.ts";

export type Condition =
  | { readonly kind: "exists"; readonly key: string }
  | { readonly kind: "is"; readonly key: string; readonly value: string }
  /** Every node has these numbers, so "less" is true where this is not. */
  | { readonly kind: "atLeast"; readonly key: string; readonly number: number };

export interface Conditions {
  readonly bdd: Bdd;
  /** By the numbers of their variables. */
  readonly list: readonly Condition[];
  /** Throws for one that was not among those given. */
  readonly of: (condition: Condition) => Node;
}

export const label = {
  exists: (key: string): Condition => ({ kind: "exists", key }),
  is: (key: string, value: string): Condition => ({ kind: "is", key, value }),
  atLeast: (key: string, number: number): Condition => ({ kind: "atLeast", key, number }),
} as const;

/** Gives each a variable; those of one key stand side by side, which keeps the diagrams small. */
export function createConditions(bdd: Bdd, all: readonly Condition[]): Conditions {
  const byName = new Map(all.map((each) => [nameOf(each), each]));
  const list = [...byName.values()].sort(compareConditions);
  const numbers = new Map(list.map((each, index) => [nameOf(each), index]));
  return {
    bdd,
    list,
    of: (wanted) => {
      const number = numbers.get(nameOf(wanted));
      if (number === undefined) throw new RangeError(`no such condition: ${nameOf(wanted)}`);
      return bdd.variable(number);
    },
  };
}

/** What no node contradicts: a number at least 5 is at least 3, one key has one value. */
export function consistency({ bdd, list, of }: Conditions): Node {
  const parts: Node[] = [];
  for (const [index, current] of list.entries()) {
    const next = list[index + 1];
    if (next === undefined || next.key !== current.key) continue;
    // Sorted: the smaller number comes first.
    if (next.kind === "atLeast") parts.push(bdd.or(bdd.not(of(next)), of(current)));
  }
  const values = list.filter((each) => each.kind === "is");
  for (const [index, a] of values.entries())
    for (const b of values.slice(index + 1)) if (a.key === b.key) parts.push(bdd.not(bdd.and(of(a), of(b))));
  return parts.reduce((all, part) => bdd.and(all, part), always);
}

const firstKeys: readonly string[] = [keys.platform, keys.broken];
const lastKeys: readonly string[] = [
  keys.kernelNumber,
  keys.gpuUsable,
  keys.driverScale,
  keys.forwardCompat,
  keys.driverNumber,
  keys.cudaNumber,
  keys.runtime,
];

/** Platform and CPU, then the driver, then the GPUs. */
function compareConditions(a: Condition, b: Condition): number {
  return groupOf(a) - groupOf(b) || compareText(a.key, b.key) || compareValues(a, b);
}

function groupOf({ key }: Condition): number {
  const first = firstKeys.indexOf(key);
  if (first >= 0) return first;
  const last = lastKeys.indexOf(key);
  if (last >= 0) return 20 + last;
  if (key.startsWith("march.")) return 10;
  return key.startsWith("gpu.") ? 40 : 11;
}

function compareValues(a: Condition, b: Condition): number {
  if (a.kind === "atLeast" && b.kind === "atLeast") return a.number - b.number;
  return compareText(nameOf(a), nameOf(b));
}

function nameOf(each: Condition): string {
  switch (each.kind) {
    case "exists":
      return each.key;
    case "is":
      return `${each.key}=${each.value}`;
    case "atLeast":
      return `${each.key}>=${each.number}`;
  }
}
