/**
 * Every path of a template goes through one strict helper. Handlebars' own strict mode answers nothing for
 * `{{#if text.key}}` and fails with JavaScript's words on `{{nothing.key}}`; the helper says which name and where.
 */

import { NothingToPrintError, UnknownNameError } from "./guarded-view.ts";

/** The helper's name: no template can write it. */
export const lookup = "strict lookup";

type Path = hbs.AST.PathExpression;
type Params = readonly hbs.AST.Expression[];

/** Makes `{{a.b}}` and the `a.b` of `{{#if a.b}}` calls of {@link lookup}. Changes the tree. */
export function makePathsStrict(tree: hbs.AST.Program): void {
  const blockParams = new Set<string>();
  walk(tree, (node) => {
    for (const name of (node as hbs.AST.Program).blockParams ?? []) blockParams.add(name);
  });
  const isPlain = (node: hbs.AST.Node): node is Path => {
    const { type, data, depth, parts } = node as Path;
    return (
      type === "PathExpression" &&
      !data &&
      depth === 0 &&
      parts.length > 0 &&
      !blockParams.has(parts[0] ?? "")
    );
  };
  walk(tree, (node) => {
    const call = node as { path?: hbs.AST.Node; params?: Params; type: string };
    // What stands inside a call of lookup is made already.
    if (call.params === undefined || (call.path as Path | undefined)?.original === lookup) return;
    if (node.type === "MustacheStatement" && call.params.length === 0 && call.path && isPlain(call.path)) {
      const { path, params } = callOf(call.path, "printed");
      if (!helperNames.has((call.path as Path).original)) Object.assign(call, { path, params });
      return;
    }
    call.params = call.params.map((param) => (isPlain(param) ? callOf(param, "asked") : param));
  });
}

/** Walks the path from the context that it is called on. */
export function lookupPath(this: unknown, ...given: readonly unknown[]): unknown {
  const [dotted, line, column, use] = given as [string, number, number, Use];
  const parts = dotted.split("\0");
  let value: unknown = this;
  for (const [index, part] of parts.entries()) {
    const isMapping = typeof value === "object" && value !== null && !(value instanceof String);
    if (!isMapping || !Object.hasOwn(value as object, part)) {
      const known = isMapping ? Object.keys(value as object) : [];
      throw new UnknownNameError(parts.slice(0, index + 1).join("."), known, { line, column });
    }
    value = (value as Record<string, unknown>)[part];
  }
  // `{{#if cuda}}` may ask for nothing; printing it would leave a hole in an instruction.
  if (use === "printed" && value === null) throw new NothingToPrintError(parts.join("."), { line, column });
  return value;
}

const helperNames = new Set(["if", "unless", "each", "with", "eq"]);

/** Whether a path's value goes into the Dockerfile, or only decides what does. */
type Use = "printed" | "asked";

function callOf(path: Path, use: Use): hbs.AST.SubExpression {
  const { loc } = path;
  const literal = (type: "StringLiteral" | "NumberLiteral", value: string | number) =>
    ({ type, value, original: value, loc }) as unknown as hbs.AST.Expression;
  return {
    type: "SubExpression",
    path: { type: "PathExpression", data: false, depth: 0, parts: [lookup], original: lookup, loc },
    params: [
      literal("StringLiteral", path.parts.join("\0")),
      literal("NumberLiteral", loc.start.line),
      literal("NumberLiteral", loc.start.column + 1),
      literal("StringLiteral", use),
    ],
    hash: undefined as unknown as hbs.AST.Hash,
    loc,
  };
}

/** Every node of a tree, parents first. */
export function walk(value: unknown, visit: (node: hbs.AST.Node) => void): void {
  if (Array.isArray(value)) {
    for (const item of value) walk(item, visit);
  } else if (typeof value === "object" && value !== null) {
    if ("type" in value && "loc" in value) visit(value as hbs.AST.Node);
    for (const [key, child] of Object.entries(value)) if (key !== "loc") walk(child, visit);
  }
}
