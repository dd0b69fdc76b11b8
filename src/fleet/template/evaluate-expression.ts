/** The expressions of a template → values: names, literals, and the answers of `eq`, `and` and the other helpers. */

import { parseAmdTarget } from "../../hardware/amd-target.ts";
import { type GpuTarget, readTargets } from "../../hardware/gpu-target.ts";
import { ImgmatchError, InternalError } from "../../errors.ts";
import type { Partials } from "./partials.ts";
import {
  absent,
  type Mistake,
  noSuchKey,
  nothingToPrint,
  notText,
  syntax,
  unknownName,
} from "./template-problems.ts";
import { nameOf, placeOfNode, sourceOf, type TemplateSource } from "./template-syntax.ts";
import { cmakeForms, dottedForms, gencodeForms, smForms } from "./target-forms.ts";
import { textSymbol } from "./view.ts";

/** The names that a place in a template sees, and what evaluating it needs. */
export interface Scope {
  /** The template or partial that the place is in. */
  readonly source: TemplateSource;
  /** The cell, for messages. */
  readonly cell: string;
  readonly partials: Partials;
  /** Statements and characters that are left before the template counts as endless, partials included. */
  readonly left: { statements: number; characters: number };
  /** The value of `this`. */
  readonly context: unknown;
  /** The scope of `../`; null at the top. */
  readonly outer: Scope | null;
  readonly data: Data;
  readonly blockParams: ReadonlyMap<string, unknown>;
}

/** The names behind an `@`. */
export const dataNames = ["root", "index", "key", "first", "last"] as const;

export type Data = Readonly<Partial<Record<(typeof dataNames)[number], unknown>>> & {
  readonly outer: Data | null;
};

interface Helper {
  /** The number of values that it takes. */
  readonly takes: 1 | 2;
  /** It takes any further values too. */
  readonly orMore?: true;
  /** An example of a call, for messages. */
  readonly form: string;
  /** `checkTemplate` has counted the values, so there are as many as it takes. */
  readonly answer: (params: Params, scope: Scope) => boolean | string | readonly string[];
}

type Params = readonly [hbs.AST.Expression, hbs.AST.Expression, ...hbs.AST.Expression[]];

/** The helpers inside parentheses. */
export const expressionHelpers: ReadonlyMap<string, Helper> = new Map<string, Helper>([
  ["eq", { takes: 2, form: "(eq a b)", answer: isEqual }],
  ["ne", { takes: 2, form: "(ne a b)", answer: (params, scope) => !isEqual(params, scope) }],
  ["includes", { takes: 2, form: '(includes list "text")', answer: isIncluded }],
  ["not", { takes: 1, form: "(not a)", answer: ([value], scope) => !holds(valueAt(value, scope)) }],
  // `and` and `or` stop as soon as they are decided: `(and cuda (eq cuda.major "12"))` works in a cell without CUDA too.
  ["and", { takes: 2, orMore: true, form: "(and a b)", answer: (all, scope) => all.every(holdsIn(scope)) }],
  ["or", { takes: 2, orMore: true, form: "(or a b)", answer: (all, scope) => all.some(holdsIn(scope)) }],
  ["join", { takes: 2, form: '(join list ";")', answer: joined }],
  ["sm", { takes: 1, form: "(sm list)", answer: targetsAs(smForms) }],
  ["dotted", { takes: 1, form: "(dotted list)", answer: targetsAs(dottedForms) }],
  ["cmake", { takes: 1, form: "(cmake list)", answer: targetsAs(cmakeForms) }],
  ["gencode", { takes: 1, form: "(gencode list)", answer: targetsAs(gencodeForms) }],
]);

export function valueAt(node: hbs.AST.Expression, scope: Scope): unknown {
  const expression = node as
    | (hbs.AST.PathExpression | hbs.AST.SubExpression)
    | (hbs.AST.NullLiteral | hbs.AST.UndefinedLiteral)
    | (hbs.AST.StringLiteral | hbs.AST.NumberLiteral | hbs.AST.BooleanLiteral);
  switch (expression.type) {
    case "PathExpression":
      return lookUp(expression, scope);
    case "SubExpression":
      return answer(expression, scope);
    case "NullLiteral":
    case "UndefinedLiteral":
      return null;
    default:
      return expression.value;
  }
}

export function answer(
  { path, params }: Pick<hbs.AST.MustacheStatement, "path" | "params">,
  scope: Scope,
): ReturnType<Helper["answer"]> {
  const helper = expressionHelpers.get(nameOf(path));
  if (helper === undefined) throw new InternalError(`a template's helper ${nameOf(path)} was not refused`);
  return helper.answer(params as unknown as Params, scope);
}

function joined([list, between]: Params, scope: Scope): string {
  return itemsAt(list, scope).join(textOf(valueAt(between, scope)) ?? "");
}

function targetsAs(forms: (targets: readonly GpuTarget[]) => readonly string[]): Helper["answer"] {
  return ([list], scope) => forms(itemsAt(list, scope).flatMap((item) => targetsIn(item, list, scope)));
}

function targetsIn(item: string, list: hbs.AST.Expression, scope: Scope): readonly GpuTarget[] {
  const targets = readTargets(item);
  if (targets !== null) return targets;
  const what = `${JSON.stringify(item)} in ${sourceOf(list, scope.source)} is no GPU target of NVIDIA for cell ${scope.cell}`;
  const fix =
    parseAmdTarget(item) === null
      ? 'write targets as "9.0", "9.0+ptx" or "sm_90", or join the list as it is: (join list ";")'
      : 'it is AMD\'s: write {{gpu.offload}} or (join list ";"), inside {{#if rocm}}';
  throw refuse(list, scope, syntax(what, fix));
}

/** A text is a list of one. */
function itemsAt(list: hbs.AST.Expression, scope: Scope): readonly string[] {
  const value = valueAt(list, scope);
  const texts = (Array.isArray(value) ? value : [value]).map(textOf);
  if (texts.every((text) => text !== null)) return texts;
  const source = sourceOf(list, scope.source);
  const noList = syntax(`${source} is a mapping, and no list`, 'write (join gpu.targets ";")');
  throw refuse(list, scope, value === null ? nothingToPrint(source, scope.cell) : noList);
}

/** True if a list has a text, or a text a part; nothing includes nothing. */
function isIncluded([list, item]: Params, scope: Scope): boolean {
  const fix = 'write (includes gpu.targets "sm_90")';
  const [whole, wanted] = [valueAt(list, scope), textOf(valueAt(item, scope))];
  if (wanted === null) {
    const what = `includes looks for a text, ${sourceOf(item, scope.source)} is none`;
    throw refuse(item, scope, syntax(what, fix));
  }
  if (whole === null) return false;
  if (Array.isArray(whole)) return whole.some((each) => textOf(each) === wanted);
  const text = textOf(whole);
  if (text !== null) return text.includes(wanted);
  const what = `includes needs a list or a text, ${sourceOf(list, scope.source)} is a mapping`;
  throw refuse(list, scope, syntax(what, fix));
}

/** Refuses a text beside a number literal, `(eq cuda.major 12)`: they are equal in no cell. */
function isEqual([left, right]: Params, scope: Scope): boolean {
  const [one, other] = [comparable(left, scope), comparable(right, scope)];
  const pairs = [[one, right, other] as const, [other, left, one] as const];
  for (const [value, literal, number] of pairs) {
    if (typeof value !== "string" || literal.type !== "NumberLiteral" || typeof number !== "number") continue;
    const written = sourceOf(literal, scope.source);
    const what = `eq compares the text ${JSON.stringify(value)} with the number ${written}, which are never equal`;
    throw refuse(literal, scope, syntax(what, `write "${written}"`));
  }
  return one === other;
}

function comparable(param: hbs.AST.Expression, scope: Scope): unknown {
  const value = valueAt(param, scope);
  if (typeof value !== "object" || value === null) return value;
  const text = textOf(value);
  if (text !== null) return text;
  throw refuse(param, scope, notText(sourceOf(param, scope.source), "compares", Object.keys(value)));
}

function holdsIn(scope: Scope): (param: hbs.AST.Expression) => boolean {
  return (param) => holds(valueAt(param, scope));
}

/** Null, no, an empty text and an empty list count as no. */
export function holds(value: unknown): boolean {
  const primitive = typeof value === "object" ? (textOf(value) ?? value) : value;
  return Boolean(primitive) && !(Array.isArray(primitive) && primitive.length === 0);
}

/** The text of what is printed or compared, or null for a mapping, a list and nothing. */
export function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value !== "object") return String(value);
  const text = (value as { readonly [textSymbol]?: unknown })[textSymbol];
  return typeof text === "string" ? text : null;
}

/** Follows a path name by name, through own keys only. */
function lookUp(path: hbs.AST.PathExpression, scope: Scope): unknown {
  const { start, names, prefix } = startOf(path, scope);
  let value = start;
  for (const [index, key] of names.entries()) {
    const isMapping = typeof value === "object" && value !== null;
    if (!isMapping || !Object.hasOwn(value as object, key)) {
      const parent = [...prefix, ...names.slice(0, index)].join(".");
      const name = parent === "" ? key : `${parent}${parent.endsWith("..") ? "/" : "."}${key}`;
      const known = isMapping && !isNothing(value) ? Object.keys(value as object) : [];
      const stuck = isNothing(value) ? null : value;
      const problem =
        known.length > 0 ? unknownName(name, known) : noSuchKey(name, parent, stuck, scope.cell);
      throw refuse(path, scope, problem);
    }
    value = (value as Record<string, unknown>)[key];
  }
  return isNothing(value) ? null : (value ?? null);
}

/** True if the cell does not have the value, though keys of it can be named. */
function isNothing(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return (value as { readonly [textSymbol]?: unknown })[textSymbol] === null;
}

/** The value at which a path starts, and the names to look up from that value. `prefix` is the start as written, for messages. */
function startOf(path: hbs.AST.PathExpression, scope: Scope) {
  const { parts, depth, original } = path;
  const [first, ...rest] = parts;
  if (path.data) return { start: dataOf(path, scope), names: rest, prefix: [`@${first}`] };
  // `./name` and `this.name` mean the context also where a block parameter has that name.
  const isScoped = /^\.|^this\b/.test(original);
  if (depth === 0 && !isScoped && first !== undefined && scope.blockParams.has(first))
    return { start: scope.blockParams.get(first), names: rest, prefix: [first] };
  const at = outwards(scope, depth);
  if (at === null) throw refuse(path, scope, absent(original, "here is nothing further out"));
  return { start: at.context, names: parts, prefix: depth === 0 ? [] : [Array(depth).fill("..").join("/")] };
}

function dataOf(path: hbs.AST.PathExpression, scope: Scope): unknown {
  const name = path.parts[0] as (typeof dataNames)[number];
  const value = outwards(scope.data, path.depth)?.[name];
  if (value === undefined)
    throw refuse(path, scope, absent(path.original, `@${name} is there inside {{#each}} only`));
  return value;
}

function outwards<Level extends { readonly outer: Level | null }>(from: Level, depth: number): Level | null {
  let at: Level | null = from;
  for (let level = 0; level < depth && at !== null; level++) at = at.outer;
  return at;
}

export function refuse(node: hbs.AST.Node, { source }: Scope, problem: Mistake): ImgmatchError {
  return new ImgmatchError({ ...problem, at: placeOfNode(node, source) });
}
