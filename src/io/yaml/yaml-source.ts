/** Reads YAML with the place of every value, `file:line:column`. */

import { LineCounter } from "yaml";
import type { Place, Problem } from "../../errors.ts";
import { inputLimits, quoteLine, requireSize } from "../limits.ts";
import { plainData, type YamlKind } from "./yaml-data.ts";
import { parseYamlDocument } from "./yaml-document.ts";
import { type YamlPath, yamlPlaces } from "./yaml-places.ts";

export interface YamlSource {
  /** The document as plain data, every scalar as its source text unless the kind says otherwise; null if its syntax is broken. */
  readonly data: unknown;
  /** The place of the value at a path, or of its nearest ancestor that exists. */
  placeOf(path: YamlPath): Place;
  /** The place of the key at a path. */
  placeOfKey(path: YamlPath): Place;
}

const matrixYaml: YamlKind = {
  limit: inputLimits.matrix,
  syntax: "MATRIX_SYNTAX",
  duplicate: "MATRIX_DUPLICATE",
};

/** Answers all mistakes of syntax, duplicate keys among them. Throws `INPUT_TOO_LARGE`. */
export function parseYamlSource(
  text: string,
  file: string,
  kind: YamlKind = matrixYaml,
): { readonly source: YamlSource; readonly problems: readonly Problem[] } {
  requireSize(text, kind.limit, { file });
  const counter = new LineCounter();
  const lines = text.split(/\r?\n/);
  const place = (offset: number): Place => {
    const { line, col } = counter.linePos(offset);
    const quoted = quoteLine(lines[line - 1], col);
    return { file, line, column: col, ...(quoted === undefined ? {} : { text: printable(quoted) }) };
  };
  const document = parseYamlDocument(text, counter, place, kind.schema);
  const { data, problems: mistakes } = plainData(document, (node) => place(node.range?.[0] ?? 0), kind);
  const problems = [
    ...[...document.errors, ...document.warnings].map(({ code, message, pos }): Problem => {
      const [what, fix] =
        code === "MULTIPLE_DOCS"
          ? ["the file holds several YAML documents", "keep one; --- may stand only at the beginning"]
          : [`not YAML: ${message}`, "correct the YAML here, or just before"];
      // The place where the parser stopped.
      return { code: kind.syntax, message: what, fix, at: place(pos[0]) };
    }),
    ...mistakes,
  ];
  // A document whose only fault is repeated keys can be read, so the same run finds other mistakes too.
  const isReadable = problems.every(({ code }) => code === kind.duplicate);
  const { offsetOf, offsetOfKey } = yamlPlaces(document);
  const source: YamlSource = {
    data: isReadable ? data : null,
    placeOf: (path) => place(offsetOf(path)),
    placeOfKey: (path) => place(offsetOfKey(path)),
  };
  return { source, problems };
}

/** Keeps control characters of a broken file from the terminal, but not tabs, which keep the caret in its place. */
function printable(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
  return line.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "\ufffd");
}
