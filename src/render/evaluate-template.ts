/**
 * A template's tree and a view → text. Handlebars' own evaluation answers nothing for names that do not exist in many places
 * (`{{#if a.b}}`, block parameters, `../`, text under a helper); here every path goes through one strict look.
 */

import { assertNever, ImgmatchError, InternalError, type Problem } from "../errors.ts";
import { type BlockHelper, type dataNames, isBlockHelper } from "./check-template.ts";
import { type ExpressionHelperName, isExpressionHelper } from "./expression-helpers.ts";
import { noSuchKey, nothingToPrint, notText, unknownName } from "./template-problems.ts";
import { placeOfNode, sourceOf, type TemplateSource } from "./template-syntax.ts";
import { textSymbol } from "./view.ts";

/** What a place in the template sees. */
interface Scope {
  readonly context: unknown;
  /** What `../` means; null at the top. */
  readonly outer: Scope | null;
  readonly data: Data;
  readonly blockParams: ReadonlyMap<string, unknown>;
}

type Data = Readonly<Partial<Record<(typeof dataNames)[number], unknown>>> & { readonly outer: Data | null };

interface Run {
  readonly source: TemplateSource;
  readonly cell: string;
  /** Statements and characters that are left before the template counts as endless. */
  steps: number;
  characters: number;
}

// Loops in loops over a handful of names grow exponentially with their depth.
const mostSteps = 1_000_000;
const longestText = 4 * 1024 * 1024;

/** Throws `TEMPLATE_UNKNOWN_NAME` and `TEMPLATE_SYNTAX` with the place, and `INPUT_TOO_LARGE`. */
export function evaluateTemplate(source: TemplateSource, view: object, cell: string): string {
  const run: Run = { source, cell, steps: mostSteps, characters: longestText };
  const scope: Scope = {
    context: view,
    outer: null,
    data: { root: view, outer: null },
    blockParams: new Map(),
  };
  return programText(run, source.tree, scope);
}

function programText(run: Run, program: hbs.AST.Program | undefined, scope: Scope): string {
  let text = "";
  for (const statement of program?.body ?? []) {
    if (--run.steps < 0) throw endless(run, statement, `${mostSteps} statements`);
    text += statementText(run, statement, scope);
  }
  return text;
}

function statementText(run: Run, statement: hbs.AST.Statement, scope: Scope): string {
  switch (statement.type) {
    case "ContentStatement":
      return counted(run, statement, (statement as hbs.AST.ContentStatement).value);
    case "CommentStatement":
      return "";
    case "MustacheStatement": {
      const { path, params } = statement as hbs.AST.MustacheStatement;
      const text = params.length > 0 ? String(answer(run, path, params, scope)) : printed(run, path, scope);
      return counted(run, statement, text);
    }
    case "BlockStatement":
      return blockText(run, statement as hbs.AST.BlockStatement, scope);
    default:
      throw new InternalError(`a template's ${statement.type} was not refused`);
  }
}

function counted(run: Run, node: hbs.AST.Node, text: string): string {
  run.characters -= text.length;
  if (run.characters < 0) throw endless(run, node, `${longestText} characters`);
  return text;
}

function blockText(run: Run, block: hbs.AST.BlockStatement, scope: Scope): string {
  const name = (block.path as hbs.AST.PathExpression).original;
  const [param] = block.params;
  if (!isBlockHelper(name) || param === undefined)
    throw new InternalError(`a template's block ${name} was not refused`);
  const value = valueAt(run, param, scope);
  const { program, inverse } = block;
  const helper: BlockHelper = name;
  switch (helper) {
    case "if":
      return programText(run, holds(value) ? program : inverse, scope);
    case "unless":
      return programText(run, holds(value) ? inverse : program, scope);
    case "with":
      if (!holds(value) && value !== 0) return programText(run, inverse, scope);
      return programText(run, program, below(scope, value, scope.data, named(program, [value], scope)));
    case "each": {
      const items = itemsOf(run, param, value);
      if (items.length === 0) return programText(run, inverse, scope);
      const texts = items.map(([key, item], index) => {
        const data: Data = {
          root: scope.data.root,
          index,
          key,
          first: index === 0,
          last: index === items.length - 1,
          outer: scope.data,
        };
        return programText(run, program, below(scope, item, data, named(program, [item, key], scope)));
      });
      return texts.join("");
    }
    default:
      return assertNever(helper);
  }
}

function below(outer: Scope, context: unknown, data: Data, blockParams: Scope["blockParams"]): Scope {
  return { context, outer, data, blockParams };
}

/** `as |value key|` */
function named(
  program: hbs.AST.Program | undefined,
  values: readonly unknown[],
  { blockParams }: Scope,
): Scope["blockParams"] {
  const names = program?.blockParams ?? [];
  return names.length === 0
    ? blockParams
    : new Map([...blockParams, ...names.map((name, index) => [name, values[index]] as const)]);
}

function itemsOf(
  run: Run,
  param: hbs.AST.Expression,
  value: unknown,
): (readonly [string | number, unknown])[] {
  if (value === null) return [];
  if (Array.isArray(value)) return value.map((item, index) => [index, item] as const);
  if (typeof value === "object") return Object.entries(value as object);
  throw refuse(run, param, (at) => ({
    code: "TEMPLATE_SYNTAX",
    message: `each needs a list or a mapping, ${sourceOf(param, run.source)} is a text`,
    fix: `write {{${sourceOf(param, run.source)}}}`,
    at,
  }));
}

/** Null, no, an empty text and an empty list count as no. */
function holds(value: unknown): boolean {
  const held = typeof value === "object" ? (textOf(value) ?? value) : value;
  return Boolean(held) && !(Array.isArray(held) && held.length === 0);
}

function valueAt(run: Run, expression: hbs.AST.Expression, scope: Scope): unknown {
  switch (expression.type) {
    case "PathExpression":
      return look(run, expression as hbs.AST.PathExpression, scope);
    case "SubExpression": {
      const { path, params } = expression as hbs.AST.SubExpression;
      return answer(run, path, params, scope);
    }
    case "NullLiteral":
    case "UndefinedLiteral":
      return null;
    default:
      return (expression as hbs.AST.StringLiteral | hbs.AST.NumberLiteral).value;
  }
}

/** `and` and `or` look no further than they must: `(and cuda (eq cuda.major "12"))` can be asked of a cell without CUDA too. */
function answer(
  run: Run,
  path: hbs.AST.Expression,
  params: readonly hbs.AST.Expression[],
  scope: Scope,
): boolean {
  const name = (path as hbs.AST.PathExpression).original;
  if (!isExpressionHelper(name)) throw new InternalError(`a template's helper ${name} was not refused`);
  const helper: ExpressionHelperName = name;
  switch (helper) {
    case "eq":
      return isEqual(run, params, scope);
    case "ne":
      return !isEqual(run, params, scope);
    case "includes":
      return isIncluded(run, params, scope);
    case "not":
      return !params.some((param) => holds(valueAt(run, param, scope)));
    case "and":
      return params.every((param) => holds(valueAt(run, param, scope)));
    case "or":
      return params.some((param) => holds(valueAt(run, param, scope)));
    default:
      return assertNever(helper);
  }
}

/** Whether a list has a text, or a text a part; nothing includes nothing. */
function isIncluded(run: Run, [list, item]: readonly hbs.AST.Expression[], scope: Scope): boolean {
  if (list === undefined || item === undefined)
    throw new InternalError("includes without two values was not refused");
  const [held, wanted] = [valueAt(run, list, scope), textOf(valueAt(run, item, scope))];
  if (wanted === null)
    throw refuse(run, item, (at) => ({
      code: "TEMPLATE_SYNTAX",
      message: `includes looks for a text, ${sourceOf(item, run.source)} is none`,
      fix: 'write (includes gpu.targets "sm_90")',
      at,
    }));
  if (held === null) return false;
  if (Array.isArray(held)) return held.some((each) => textOf(each) === wanted);
  const text = textOf(held);
  if (text !== null) return text.includes(wanted);
  throw refuse(run, list, (at) => ({
    code: "TEMPLATE_SYNTAX",
    message: `includes needs a list or a text, ${sourceOf(list, run.source)} is a mapping`,
    fix: 'write (includes gpu.targets "sm_90")',
    at,
  }));
}

/** Values that cannot be equal whatever the cell are a mistake: `(eq cuda.major 12)`, where the one is a text and the other a number. */
function isEqual(run: Run, params: readonly hbs.AST.Expression[], scope: Scope): boolean {
  const [one, other] = params.map((param) => {
    const value = valueAt(run, param, scope);
    if (typeof value !== "object" || value === null) return { param, value };
    const text = textOf(value);
    const path = sourceOf(param, run.source);
    if (text === null) throw refuse(run, param, (at) => notText(path, "compares", Object.keys(value), at));
    return { param, value: text };
  });
  if (one === undefined || other === undefined)
    throw new InternalError("eq without two names was not refused");
  for (const [{ value }, { param, value: number }] of [
    [one, other],
    [other, one],
  ] as const) {
    if (typeof value !== "string" || param.type !== "NumberLiteral" || typeof number !== "number") continue;
    const written = sourceOf(param, run.source);
    throw refuse(run, param, (at) => ({
      code: "TEMPLATE_SYNTAX",
      message: `eq compares the text ${JSON.stringify(value)} with the number ${written}, which are never equal`,
      fix: `write "${written}"`,
      at,
    }));
  }
  return one.value === other.value;
}

function printed(run: Run, path: hbs.AST.Expression, scope: Scope): string {
  const value = valueAt(run, path, scope);
  const name = (path as hbs.AST.PathExpression).original;
  if (value === null) throw refuse(run, path, (at) => nothingToPrint(name, run.cell, at));
  if (Array.isArray(value)) return value.join(",");
  const text = textOf(value);
  if (text === null)
    throw refuse(run, path, (at) => notText(name, "prints", Object.keys(value as object), at));
  return text;
}

/** The text of what is printed or compared, or null for a mapping, a list and nothing. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value !== "object") return String(value);
  const text = (value as { readonly [textSymbol]?: unknown })[textSymbol];
  return typeof text === "string" ? text : null;
}

/** Own keys only, one by one. */
function look(run: Run, path: hbs.AST.PathExpression, scope: Scope): unknown {
  const { start, parts, prefix } = startOf(run, path, scope);
  let value = start;
  for (const [index, part] of parts.entries()) {
    const isMapping = typeof value === "object" && value !== null;
    if (!isMapping || !Object.hasOwn(value as object, part)) {
      const parent = [...prefix, ...parts.slice(0, index)].join(".");
      const name = parent === "" ? part : `${parent}${parent.endsWith("..") ? "/" : "."}${part}`;
      const known = isMapping ? Object.keys(value as object) : [];
      const stuck = value;
      throw refuse(run, path, (at) =>
        known.length > 0 ? unknownName(name, known, at) : noSuchKey(name, parent, stuck, run.cell, at),
      );
    }
    value = (value as Record<string, unknown>)[part];
  }
  return value ?? null;
}

interface Start {
  readonly start: unknown;
  /** Names that are looked for from there. */
  readonly parts: readonly string[];
  /** How the start is written, for messages. */
  readonly prefix: readonly string[];
}

function startOf(run: Run, path: hbs.AST.PathExpression, scope: Scope): Start {
  const [first, ...rest] = path.parts;
  if (path.data) return { start: dataOf(run, path, scope), parts: rest, prefix: [`@${first}`] };
  // `./name` and `this.name` mean the context also where a block parameter has that name.
  const scoped = /^\.|^this\b/.test(path.original);
  if (path.depth === 0 && !scoped && first !== undefined && scope.blockParams.has(first))
    return { start: scope.blockParams.get(first), parts: rest, prefix: [first] };
  let at: Scope | null = scope;
  for (let level = 0; level < path.depth && at !== null; level++) at = at.outer;
  if (at === null) throw refuse(run, path, (place) => outside(path.original, "..", place));
  return {
    start: at.context,
    parts: path.parts,
    prefix: path.depth === 0 ? [] : [Array(path.depth).fill("..").join("/")],
  };
}

function dataOf(run: Run, path: hbs.AST.PathExpression, { data }: Scope): unknown {
  let at: Data | null = data;
  for (let level = 0; level < path.depth && at !== null; level++) at = at.outer;
  const name = path.parts[0] as (typeof dataNames)[number];
  if (at === null || at[name] === undefined)
    throw refuse(run, path, (place) => outside(path.original, `@${name}`, place));
  return at[name];
}

function outside(name: string, what: string, at: Problem["at"]): Problem {
  return {
    code: "TEMPLATE_UNKNOWN_NAME",
    message: `the template names ${JSON.stringify(name)}, which does not exist`,
    fix: what === ".." ? "here is nothing further out" : `${what} is there inside {{#each}} only`,
    ...(at === undefined ? {} : { at }),
  };
}

function refuse(
  run: Run,
  node: hbs.AST.Node,
  problem: (at: ReturnType<typeof placeOfNode>) => Problem,
): ImgmatchError {
  return new ImgmatchError(problem(placeOfNode(node, run.source)));
}

function endless(run: Run, node: hbs.AST.Node, limit: string): ImgmatchError {
  return refuse(run, node, (at) => ({
    code: "INPUT_TOO_LARGE",
    message: `the template comes to more than ${limit} for cell ${run.cell}`,
    fix: "take loops out of loops",
    at,
  }));
}
