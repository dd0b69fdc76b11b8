/** The names of a template → values: every path goes through one strict look, wherever it stands. */

import { ImgmatchError } from "../../errors.ts";
import type { dataNames } from "./check-template.ts";
import { absent, type Mistake, noSuchKey, unknownName } from "./template-problems.ts";
import { placeOfNode, type TemplateSource } from "./template-syntax.ts";
import { textSymbol } from "./view.ts";

/** The names that a place in the template sees. */
export interface Scope {
  readonly context: unknown;
  /** The scope of `../`; null at the top. */
  readonly outer: Scope | null;
  readonly data: Data;
  readonly blockParams: ReadonlyMap<string, unknown>;
}

export type Data = Readonly<Partial<Record<(typeof dataNames)[number], unknown>>> & {
  readonly outer: Data | null;
};

/** Which template, and for which cell: for messages. */
export interface Evaluated {
  readonly source: TemplateSource;
  readonly cell: string;
}

/** Own keys only, one by one. */
export function lookUp(run: Evaluated, path: hbs.AST.PathExpression, scope: Scope): unknown {
  const { start, parts, prefix } = startOf(run, path, scope);
  let value = start;
  for (const [index, part] of parts.entries()) {
    const isMapping = typeof value === "object" && value !== null;
    if (!isMapping || !Object.hasOwn(value as object, part)) {
      const parent = [...prefix, ...parts.slice(0, index)].join(".");
      const name = parent === "" ? part : `${parent}${parent.endsWith("..") ? "/" : "."}${part}`;
      const known = isMapping && !isNothing(value) ? Object.keys(value as object) : [];
      const stuck = isNothing(value) ? null : value;
      const problem = known.length > 0 ? unknownName(name, known) : noSuchKey(name, parent, stuck, run.cell);
      throw refuse(run, path, problem);
    }
    value = (value as Record<string, unknown>)[part];
  }
  return isNothing(value) ? null : (value ?? null);
}

/** Whether the cell does not have the value, though keys of it can be named. */
function isNothing(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return (value as { readonly [textSymbol]?: unknown })[textSymbol] === null;
}

interface Start {
  readonly start: unknown;
  /** Names that are looked for from there. */
  readonly parts: readonly string[];
  /** How the start is written, for messages. */
  readonly prefix: readonly string[];
}

function startOf(run: Evaluated, path: hbs.AST.PathExpression, scope: Scope): Start {
  const [first] = path.parts;
  if (path.data)
    return { start: dataOf(run, path, scope), parts: path.parts.slice(1), prefix: [`@${first}`] };
  // `./name` and `this.name` mean the context also where a block parameter has that name.
  const scoped = /^\.|^this\b/.test(path.original);
  if (path.depth === 0 && !scoped && first !== undefined && scope.blockParams.has(first))
    return { start: scope.blockParams.get(first), parts: path.parts.slice(1), prefix: [first] };
  let at: Scope | null = scope;
  for (let level = 0; level < path.depth && at !== null; level++) at = at.outer;
  if (at === null) throw refuse(run, path, absent(path.original, "here is nothing further out"));
  return {
    start: at.context,
    parts: path.parts,
    prefix: path.depth === 0 ? [] : [Array(path.depth).fill("..").join("/")],
  };
}

function dataOf(run: Evaluated, path: hbs.AST.PathExpression, { data }: Scope): unknown {
  let at: Data | null = data;
  for (let level = 0; level < path.depth && at !== null; level++) at = at.outer;
  const name = path.parts[0] as (typeof dataNames)[number];
  if (at === null || at[name] === undefined)
    throw refuse(run, path, absent(path.original, `@${name} is there inside {{#each}} only`));
  return at[name];
}

export function refuse(run: Evaluated, node: hbs.AST.Node, problem: Mistake): ImgmatchError {
  return new ImgmatchError({ ...problem, at: placeOfNode(node, run.source) });
}
