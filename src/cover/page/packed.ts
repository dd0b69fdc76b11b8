/** Packs data as short JSON that holds equal values once: hundreds of images and thousands of hosts share values. */

import { remember } from "../../io/collections.ts";

/** A primitive, a list `[0, …]`, or an object `[n, …]` of the shape `n - 1`. Members are places of nodes. */
type Node = string | number | boolean | null | readonly number[];

interface Packed {
  /** The names of members of objects. */
  readonly shapes: readonly (readonly string[])[];
  /** A node follows its members. The last node is the whole. */
  readonly nodes: readonly Node[];
}

/** Leaves out undefined members, as JSON does. */
export function pack(value: unknown): string {
  const shapes = distinct<readonly string[]>();
  const nodes = distinct<Node>();
  const place = (each: unknown): number => {
    if (Array.isArray(each)) return nodes.placeOf([0, ...each.map(place)]);
    if (typeof each !== "object" || each === null) return nodes.placeOf(each as Node);
    const members = Object.entries(each).filter(([, member]) => member !== undefined);
    const shape = shapes.placeOf(members.map(([name]) => name));
    return nodes.placeOf([shape + 1, ...members.map(([, member]) => place(member))]);
  };
  place(value);
  return JSON.stringify({ shapes: shapes.all, nodes: nodes.all } satisfies Packed);
}

function distinct<Value>() {
  const all: Value[] = [];
  const places = new Map<string, number>();
  const placeOf = (value: Value) => remember(places, JSON.stringify(value), () => all.push(value) - 1);
  return { all, placeOf };
}

/** Unpacks the text of {@link pack}. Equal values become one object. */
export function unpack(text: string): unknown {
  const { shapes, nodes } = JSON.parse(text) as Packed;
  const values: unknown[] = [];
  for (const node of nodes) values.push(Array.isArray(node) ? composed(node, shapes, values) : node);
  return values.at(-1);
}

function composed(
  [kind = 0, ...places]: readonly number[],
  shapes: Packed["shapes"],
  values: readonly unknown[],
): unknown {
  const members = places.map((place) => values[place]);
  if (kind === 0) return members;
  // fromEntries makes own members, also of `__proto__`.
  return Object.fromEntries((shapes[kind - 1] ?? []).map((name, index) => [name, members[index]]));
}
