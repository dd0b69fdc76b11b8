/** Finds the places of values in a YAML document. Each mapping is indexed once, at its first use. */

import { type Document, isMap, isScalar, isSeq, type Node, type Pair } from "yaml";
import { remember } from "../collections.ts";

export type YamlPath = readonly PropertyKey[];

type Entry = Pair<Node | null, Node | null>;

export function yamlPlaces({ contents }: Document) {
  const indexes = new WeakMap<Node, ReadonlyMap<unknown, Entry>>();
  const entryOf = (map: Node | null, name: PropertyKey | undefined): Entry | undefined => {
    if (!isMap<Node | null, Node | null>(map)) return undefined;
    const index = remember(indexes, map, () => {
      // The first of two equal keys counts.
      const entries = map.items.map(
        (pair) => [isScalar(pair.key) ? pair.key.value : pair.key, pair] as const,
      );
      return new Map(entries.reverse());
    });
    return index.get(name);
  };
  /** The nodes along a path, as far as they exist. */
  const nodesTo = (path: YamlPath): readonly Node[] => {
    const nodes = contents === null ? [] : [contents as Node];
    for (const name of path) {
      const node = nodes.at(-1) ?? null;
      const next = isSeq<Node | null>(node) ? node.items[Number(name)] : entryOf(node, name)?.value;
      if (next == null) break;
      nodes.push(next);
    }
    return nodes;
  };
  /** The offset of the value at a path, or of its nearest ancestor that exists. */
  const offsetOf = (path: YamlPath) => nodesTo(path).findLast(({ range }) => range)?.range?.[0] ?? 0;
  /** The offset of the key at a path, else {@link offsetOf}. */
  const offsetOfKey = (path: YamlPath) => {
    const nodes = nodesTo(path.slice(0, -1));
    const key = nodes.length === path.length ? entryOf(nodes.at(-1) ?? null, path.at(-1))?.key : null;
    return path.length > 0 && isScalar(key) ? (key.range?.[0] ?? 0) : offsetOf(path);
  };
  return { offsetOf, offsetOfKey };
}
