/** Problems of a template that names the wrong thing: with the names that exist, or the axis that the matrix lacks. */

import type { Place, Problem } from "../../errors.ts";
import { suggest } from "../../io/suggest.ts";

/** `known` are the names that stand where `name` was looked for. */
export function unknownName(name: string, known: readonly string[], at: Place): Problem {
  const near = suggest(name.slice(name.lastIndexOf(".") + 1), known);
  const here = `here are ${known.join(", ")}`;
  return absent(name, near === null ? here : `did you mean ${near}? ${here}`, at);
}

/** Something was asked of `parent`, which this cell has without any keys. Every advice is one that ends the mistake in all cells. */
export function noSuchKey(name: string, parent: string, value: unknown, cell: string, at: Place): Problem {
  const key = name.slice(name.lastIndexOf(".") + 1);
  if (value === null || value === undefined) {
    const what = parent === "" ? "this" : parent;
    return absent(name, `${what} has no keys in every cell; ask {{#if ${what}}} before`, at);
  }
  if (typeof value !== "object") {
    const what = parent === "" ? "this" : parent;
    const stages = `; for stages, give every base: of the matrix the key ${key}`;
    return absent(
      name,
      `${what} is a text in cell ${cell}: write {{${what}}}${parent === "base" ? stages : ""}`,
      at,
    );
  }
  if (Array.isArray(value))
    return absent(name, `${parent} is an empty list in cell ${cell}; use {{#each ${parent}}}`, at);
  return absent(
    name,
    parent === "args"
      ? `the matrix has no args: add args: { ${key}: … } to it`
      : `${parent || "this"} has no keys in cell ${cell}; use {{#each ${parent || "this"}}}`,
    at,
  );
}

/** A name that exists, and for this cell has nothing behind it: it would leave a hole in an instruction. */
export function nothingToPrint(path: string, cell: string, at: Place): Problem {
  return {
    code: "TEMPLATE_UNKNOWN_NAME",
    message: `the template prints ${JSON.stringify(path)}, which cell ${cell} does not have`,
    fix:
      path === "base"
        ? "add base: to the entry of its cuda axis, or once at the top of the matrix"
        : `put it into {{#if ${path}}}…{{/if}}`,
    at,
  };
}

export function notText(
  path: string,
  doing: "prints" | "compares",
  keys: readonly string[],
  at: Place,
): Problem {
  const below = /^(this|\.|\.\.|@root)$/.test(path) ? "" : `${path}.`;
  const fix =
    keys.length === 0
      ? `use {{#each ${path}}}`
      : `name one of its keys: ${keys.map((key) => below + key).join(", ")}`;
  const message = `the template ${doing} ${JSON.stringify(path)}, which is no text`;
  return { code: "TEMPLATE_SYNTAX", message, fix, at };
}

function absent(name: string, fix: string, at: Place): Problem {
  const message = `the template names ${JSON.stringify(name)}, which does not exist`;
  return { code: "TEMPLATE_UNKNOWN_NAME", message, fix, at };
}
