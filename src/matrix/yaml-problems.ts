/** Mistakes of syntax in YAML, in the words of someone who edits a matrix. */

import { type Alias, type Document, isAlias, isScalar, type Scalar, visit, type YAMLError } from "yaml";
import type { Place, Problem } from "../errors.ts";

/** `at` is where the reader stumbled. */
export function describeYamlError({ code, message }: YAMLError, at: Place): Problem {
  if (code === "DUPLICATE_KEY") {
    const key = at.text?.slice((at.column ?? 1) - 1).match(/^"[^"]*"|^'[^']*'|^[^:\s]+/)?.[0] ?? "";
    return { code: "MATRIX_DUPLICATE", message: `the key ${key} stands twice here`, fix: "keep one", at };
  }
  const [what, fix] =
    code === "MULTIPLE_DOCS"
      ? ["the file holds several YAML documents", "keep one; --- may stand only at the beginning"]
      : [`not YAML: ${message}`, "correct the YAML here, or just before"];
  return { code: "MATRIX_SYNTAX", message: what, fix, at };
}

/** Aliases of no anchor, and aliases inside the value that they stand for. */
export function aliasProblems(document: Document, placeOf: (alias: Alias) => Place): Problem[] {
  const problems: Problem[] = [];
  const report = (alias: Alias, message: string, fix: string) =>
    problems.push({ code: "MATRIX_SYNTAX", message, fix, at: placeOf(alias) });
  visit(document, {
    Alias: (_, alias, path) => {
      const target = alias.resolve(document);
      if (target === undefined || isAlias(target)) {
        const fix = `put &${alias.source} in front of the value that it means, further up`;
        report(alias, `no anchor &${alias.source} stands above`, fix);
      } else if (path.includes(target)) {
        report(alias, `*${alias.source} stands inside its own value`, "write the value out");
      }
    },
  });
  return problems;
}

/** `<<: *name` is of YAML 1.1 (yaml.org/type/merge.html) and no part of YAML 1.2: it would be a key like any other. */
export function mergeKeyProblems(document: Document, placeOf: (key: Scalar) => Place): Problem[] {
  const problems: Problem[] = [];
  visit(document, {
    Pair: (_, { key }) => {
      if (!isScalar(key) || key.value !== "<<") return;
      const fix = "write the keys out, or name a whole value by its alias";
      const message = "YAML's merge key << is not available";
      problems.push({ code: "MATRIX_SYNTAX", message, fix, at: placeOf(key) });
    },
  });
  return problems;
}
