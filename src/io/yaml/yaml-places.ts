/** Places of the values of a YAML document: each mapping is indexed once, when it is first asked. */

import { type Document, isMap, isScalar, isSeq, type Node, type Pair, type Scalar } from "yaml";

export type YamlPath = readonly PropertyKey[];

type Entry = Pair<Node | null, Node | null>;

export interface YamlPlaces {
  /** Of the value at a path, or of its nearest ancestor that exists. */
  offsetOf(path: YamlPath): number;
  /** Of the key at a path; else as `offsetOf`. */
  offsetOfKey(path: YamlPath): number;
}

export function yamlPlaces({ contents }: Document): YamlPlaces {
  const indexes = new WeakMap<Node, ReadonlyMap<unknown, Entry>>();
  const entryOf = (map: Node | null, name: PropertyKey | undefined): Entry | undefined => {
    if (!isMap<Node | null, Node | null>(map)) return undefined;
    let index = indexes.get(map);
    if (index === undefined) {
      // The first of two equal keys is the one that counts.
      const entries = map.items.map(
        (pair) => [isScalar(pair.key) ? pair.key.value : pair.key, pair] as const,
      );
      index = new Map(entries.reverse());
      indexes.set(map, index);
    }
    return index.get(name);
  };
  const step = (node: Node | null, name: PropertyKey): Node | null =>
    isSeq<Node | null>(node) ? (node.items[Number(name)] ?? null) : (entryOf(node, name)?.value ?? null);

  function nodeAt(path: YamlPath): Node | null {
    let node: Node | null = contents;
    for (const name of path) {
      node = step(node, name);
      if (node === null) return null;
    }
    return node;
  }

  function offsetOf(path: YamlPath): number {
    let [node, nearest]: (Node | null)[] = [contents, contents];
    for (const name of path) {
      node = step(node ?? null, name);
      if (node === null) break;
      if (node.range) nearest = node;
    }
    return start(nearest ?? null);
  }

  function keyAt(path: YamlPath): Scalar | null {
    const key = path.length === 0 ? null : entryOf(nodeAt(path.slice(0, -1)), path.at(-1))?.key;
    return isScalar(key) ? key : null;
  }

  return { offsetOf, offsetOfKey: (path) => (keyAt(path) === null ? offsetOf(path) : start(keyAt(path))) };
}

function start(node: Node | null): number {
  return node?.range?.[0] ?? 0;
}
