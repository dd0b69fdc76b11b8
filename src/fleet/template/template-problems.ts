/** Words the mistakes of a template, with the names that exist. */

import type { Problem } from "../../errors.ts";
import { suggest } from "../../io/suggest.ts";

/** A problem without its place. */
export type Mistake = Omit<Problem, "at">;

/** @param known the names that exist there */
export function unknownName(name: string, known: readonly string[]): Mistake {
  const near = suggest(name.slice(name.lastIndexOf(".") + 1), known);
  const here = `here are ${known.join(", ")}`;
  return absent(name, near === null ? here : `did you mean ${near}? ${here}`);
}

/** The cell's `parent` has no keys. The fix ends the mistake in all cells. */
export function noSuchKey(name: string, parent: string, value: unknown, cell: string): Mistake {
  return absent(name, adviceOn(name.slice(name.lastIndexOf(".") + 1), parent, value, cell));
}

const addBase = "add base: to the matrix, or to the values of an axis";

function adviceOn(key: string, parent: string, value: unknown, cell: string): string {
  const what = parent === "" ? "this" : parent;
  if (value === null || value === undefined)
    return parent === "base" ? addBase : `cell ${cell} has no ${what}: put it into {{#if ${what}}}…{{/if}}`;
  if (typeof value !== "object") {
    const stages = `, or give every stage its own base in the matrix: base: { ${key}: … }`;
    return `${what} is a text in cell ${cell}: write {{${what}}}${parent === "base" ? stages : ""}`;
  }
  if (Array.isArray(value)) return `${parent} is an empty list in cell ${cell}; use {{#each ${parent}}}`;
  if (parent === "args") return `the matrix has no args: add args: { ${key}: … } to it`;
  return `${what} has no keys in cell ${cell}; use {{#each ${what}}}`;
}

/** The name exists, but has no value in this cell: it would leave a hole in an instruction. */
export function nothingToPrint(path: string, cell: string): Mistake {
  return {
    code: "TEMPLATE_UNKNOWN_NAME",
    message: `the template prints ${JSON.stringify(path)}, which cell ${cell} does not have`,
    fix: path === "base" ? addBase : `put it into {{#if ${path}}}…{{/if}}`,
  };
}

export function notText(path: string, doing: "prints" | "compares", keys: readonly string[]): Mistake {
  const below = /^(this|\.|\.\.|@root)$/.test(path) ? "" : `${path}.`;
  const fix =
    keys.length === 0
      ? `use {{#each ${path}}}`
      : `name one of its keys: ${keys.map((key) => below + key).join(", ")}`;
  return syntax(`the template ${doing} ${JSON.stringify(path)}, which is no text`, fix);
}

export function syntax(message: string, fix: string): Mistake {
  return { code: "TEMPLATE_SYNTAX", message, fix };
}

export function absent(name: string, fix: string): Mistake {
  const message = `the template names ${JSON.stringify(name)}, which does not exist`;
  return { code: "TEMPLATE_UNKNOWN_NAME", message, fix };
}
