/** YAML with places: every node of the document can be named as `file:line:column`. */

import { type Document, isMap, isScalar, LineCounter, type Node, parseDocument } from "yaml";
import type { Place, Problem } from "../errors.ts";
import { aliasProblems, describeYamlError, mergeKeyProblems } from "./yaml-problems.ts";

export type YamlPath = readonly PropertyKey[];

export interface YamlSource {
  /** The document as plain data, every scalar as its source text; null when its syntax is broken. */
  readonly data: unknown;
  /** Place of the value at a path, or of its nearest ancestor that exists. */
  placeOf(path: YamlPath): Place;
  /** Place of the key at a path. */
  placeOfKey(path: YamlPath): Place;
}

/** Parses YAML text. Mistakes of syntax, duplicate keys among them, are returned all together. */
export function parseYamlSource(
  text: string,
  file: string,
): { readonly source: YamlSource; readonly problems: readonly Problem[] } {
  const counter = new LineCounter();
  const lines = text.split(/\r?\n/).map(printable);
  const document = parseDocument(text, { schema: "failsafe", lineCounter: counter, prettyErrors: false });
  const place = (offset: number): Place => {
    const { line, col } = counter.linePos(offset);
    const source = lines[line - 1];
    return { file, line, column: col, ...(source === undefined ? {} : { text: source }) };
  };
  const problems = [
    ...[...document.errors, ...document.warnings].map((error) =>
      describeYamlError(error, place(error.pos[0])),
    ),
    ...aliasProblems(document, (alias) => place(offsetOf(alias))),
    ...mergeKeyProblems(document, (key) => place(offsetOf(key))),
  ];
  // A key that stands twice leaves a document that can be read, so its other mistakes are found in the same run.
  const isReadable = problems.every(({ code }) => code === "MATRIX_DUPLICATE");
  const data = isReadable ? plainData(document, problems, place(0)) : null;
  const source: YamlSource = {
    data,
    placeOf: (path) => place(offsetOf(nearestNode(document, path))),
    placeOfKey: (path) => place(offsetOf(keyNode(document, path) ?? nearestNode(document, path))),
  };
  return { source, problems };
}

/** Ten lines of aliases of aliases can stand for millions of values. */
function plainData(document: Document, problems: Problem[], at: Place): unknown {
  try {
    return document.toJS({ maxAliasCount: 10_000 });
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    const message = "the aliases stand for more than 10000 values";
    problems.push({ code: "MATRIX_SYNTAX", message, fix: "write some of them out", at });
    return null;
  }
}

function nearestNode(document: Document, path: YamlPath): Node | null {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true) as Node | undefined;
    if (node?.range) return node;
  }
  return document.contents;
}

function keyNode(document: Document, path: YamlPath): Node | null {
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  if (!isMap(parent)) return null;
  const name = path.at(-1);
  const pair = parent.items.find(({ key }) => isScalar(key) && key.value === name);
  return isScalar(pair?.key) ? pair.key : null;
}

function offsetOf(node: Node | null): number {
  return node?.range?.[0] ?? 0;
}

/** Control characters of a broken file do not reach the terminal. A tab does: it keeps the caret in its place. */
function printable(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
  return line.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "\ufffd");
}
