/** Turns a YAML document into plain data in one pass. `yaml` itself searches all anchors for every alias, and all keys for every key. */

import { type Alias, type Document, isAlias, isMap, isScalar, isSeq, type Node, type YAMLMap } from "yaml";
import type { Place, Problem } from "../../errors.ts";
import type { ProblemCode } from "../../problem-codes.ts";
import type { InputLimit } from "../limits.ts";

/** A kind of YAML file: its limit, and the codes of its mistakes. */
export interface YamlKind {
  readonly limit: InputLimit;
  readonly syntax: ProblemCode;
  /** For a key that stands twice. */
  readonly duplicate: ProblemCode;
  /** core: scalars without quotes may be numbers, booleans and null. Default: every scalar is a text. */
  readonly schema?: "core";
}

/** Aliases of aliases can stand for millions of values in ten lines. */
const mostAliased = 100_000;

interface Anchor {
  readonly data: unknown;
  /** The number of values that it stands for; null while it is being read. */
  readonly size: number | null;
}

/** Every scalar becomes its source text, or its value in the core schema. Reports keys that stand twice, merge keys, keys that are no text, and wrong aliases. */
export function plainData(
  document: Document,
  placeOf: (node: Node) => Place,
  kind: Pick<YamlKind, "syntax" | "duplicate">,
): { readonly data: unknown; readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const anchors = new Map<string, Anchor>();
  let size = 0;
  let aliased = 0;
  const report = (node: Node, message: string, fix: string, code = kind.syntax) =>
    problems.push({ code, message, fix, at: placeOf(node) });
  const data = read(document.contents);
  return { data, problems };

  function read(node: Node | null): unknown {
    if (node === null) return null;
    if (isAlias(node)) return dealias(node);
    const { anchor } = node;
    if (anchor === undefined) return readValue(node);
    const before = size;
    anchors.set(anchor, { data: null, size: null });
    const value = readValue(node);
    anchors.set(anchor, { data: value, size: size - before });
    return value;
  }

  function readValue(node: Node): unknown {
    size++;
    if (isScalar(node)) return node.value;
    if (isSeq<Node | null>(node)) return node.items.map(read);
    return isMap<Node | null, Node | null>(node) ? readMap(node) : null;
  }

  function readMap(map: YAMLMap<Node | null, Node | null>): Record<string, unknown> {
    const found: Record<string, unknown> = {};
    for (const { key, value } of map.items) {
      const name = key === null ? "" : isScalar(key) ? String(read(key)) : read(key);
      if (typeof name !== "string") {
        if (key !== null && !(isAlias(key) && name === null))
          report(key, "a list or a mapping cannot be a key", "write a text");
      } else if (Object.hasOwn(found, name)) {
        const fix = "keep one";
        report(key ?? map, `the key ${shown(name)} stands twice here`, fix, kind.duplicate);
        read(value);
        continue;
      } else if (name === "<<" && isScalar(key)) {
        // A merge key of YAML 1.1 (yaml.org/type/merge.html). To YAML 1.2 it is a key like any other.
        const fix = "write the keys out, or name a whole value by its alias";
        report(key, "YAML's merge key << is not available", fix);
      }
      // An assignment to `__proto__` would make no key.
      const member = { value: read(value), enumerable: true, writable: true, configurable: true };
      Object.defineProperty(found, String(name), member);
    }
    return found;
  }

  function dealias(alias: Alias): unknown {
    const name = alias.source;
    const anchor = anchors.get(name);
    if (anchor === undefined) {
      const fix = `put &${name} in front of the value that it means, further up`;
      report(alias, `no anchor &${name} stands above`, fix);
      return null;
    }
    if (anchor.size === null) {
      report(alias, `*${name} stands inside its own value`, "write the value out");
      return null;
    }
    const enough = aliased > mostAliased;
    aliased += anchor.size;
    size += anchor.size;
    if (enough) return null;
    if (aliased > mostAliased) {
      report(alias, `the aliases stand for more than ${mostAliased} values`, "write some of them out");
      return null;
    }
    return anchor.data;
  }
}

function shown(key: string): string {
  return /^[\w.$-]+$/.test(key) ? key : JSON.stringify(key);
}
