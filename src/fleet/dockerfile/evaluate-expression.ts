/** The expressions of a template → values: names, literals, and what `eq`, `and` and the like answer. */

import { parseAmdTarget } from "../../hardware/amd-target.ts";
import { type GpuTarget, readTargets } from "../../hardware/gpu-target.ts";
import { assertNever, InternalError } from "../../errors.ts";
import { isExpressionHelper } from "./check-template.ts";
import { type Evaluated, lookUp, refuse, type Scope } from "./look-up.ts";
import { nothingToPrint, notText, syntax } from "./template-problems.ts";
import { nameOf, sourceOf } from "./template-syntax.ts";
import { cmakeForms, dottedForms, gencodeForms, smForms } from "./target-forms.ts";
import { textSymbol } from "./view.ts";

export function valueAt(run: Evaluated, expression: hbs.AST.Expression, scope: Scope): unknown {
  switch (expression.type) {
    case "PathExpression":
      return lookUp(run, expression as hbs.AST.PathExpression, scope);
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
export function answer(
  run: Evaluated,
  path: hbs.AST.Expression,
  params: readonly hbs.AST.Expression[],
  scope: Scope,
): boolean | string | readonly string[] {
  const helper = nameOf(path);
  if (!isExpressionHelper(helper)) throw new InternalError(`a template's helper ${helper} was not refused`);
  // So many as the helper takes: `checkTemplate` has counted them.
  const both = params as unknown as Both;
  switch (helper) {
    case "eq":
      return isEqual(run, both, scope);
    case "ne":
      return !isEqual(run, both, scope);
    case "includes":
      return isIncluded(run, both, scope);
    case "not":
      return !params.some((param) => holds(valueAt(run, param, scope)));
    case "and":
      return params.every((param) => holds(valueAt(run, param, scope)));
    case "or":
      return params.some((param) => holds(valueAt(run, param, scope)));
    case "join":
      return itemsAt(run, both[0], scope).join(textOf(valueAt(run, both[1], scope)) ?? "");
    case "sm":
    case "dotted":
    case "cmake":
    case "gencode":
      return targetForms[helper](targetsAt(run, both[0], scope));
    default:
      return assertNever(helper);
  }
}

type Both = readonly [hbs.AST.Expression, hbs.AST.Expression];

const targetForms = { sm: smForms, dotted: dottedForms, cmake: cmakeForms, gencode: gencodeForms } as const;

function targetsAt(run: Evaluated, list: hbs.AST.Expression, scope: Scope): readonly GpuTarget[] {
  return itemsAt(run, list, scope).flatMap((item) => {
    const targets = readTargets(item);
    if (targets !== null) return targets;
    const what = `${JSON.stringify(item)} in ${sourceOf(list, run.source)} is no GPU target of NVIDIA for cell ${run.cell}`;
    const fix =
      parseAmdTarget(item) === null
        ? 'write targets as "9.0", "9.0+ptx" or "sm_90", or join the list as it is: (join list ";")'
        : 'it is AMD\'s: write {{gpu.offload}} or (join list ";"), inside {{#if rocm}}';
    throw refuse(run, list, syntax(what, fix));
  });
}

/** A text is a list of one. */
function itemsAt(run: Evaluated, list: hbs.AST.Expression, scope: Scope): readonly string[] {
  const value = valueAt(run, list, scope);
  const texts = (Array.isArray(value) ? value : [value]).map(textOf);
  if (texts.every((text) => text !== null)) return texts;
  const source = sourceOf(list, run.source);
  const noList = syntax(`${source} is a mapping, and no list`, 'write (join gpu.targets ";")');
  throw refuse(run, list, value === null ? nothingToPrint(source, run.cell) : noList);
}

/** Whether a list has a text, or a text a part; nothing includes nothing. */
function isIncluded(run: Evaluated, [list, item]: Both, scope: Scope): boolean {
  const fix = 'write (includes gpu.targets "sm_90")';
  const [held, wanted] = [valueAt(run, list, scope), textOf(valueAt(run, item, scope))];
  if (wanted === null) {
    const what = `includes looks for a text, ${sourceOf(item, run.source)} is none`;
    throw refuse(run, item, syntax(what, fix));
  }
  if (held === null) return false;
  if (Array.isArray(held)) return held.some((each) => textOf(each) === wanted);
  const text = textOf(held);
  if (text !== null) return text.includes(wanted);
  const what = `includes needs a list or a text, ${sourceOf(list, run.source)} is a mapping`;
  throw refuse(run, list, syntax(what, fix));
}

/** Values that cannot be equal whatever the cell are a mistake: `(eq cuda.major 12)`, where the one is a text and the other a number. */
function isEqual(run: Evaluated, [left, right]: Both, scope: Scope): boolean {
  const comparable = (param: hbs.AST.Expression) => {
    const value = valueAt(run, param, scope);
    if (typeof value !== "object" || value === null) return { param, value };
    const text = textOf(value);
    if (text !== null) return { param, value: text };
    throw refuse(run, param, notText(sourceOf(param, run.source), "compares", Object.keys(value)));
  };
  const [one, other] = [comparable(left), comparable(right)];
  for (const [{ value }, { param, value: number }] of [
    [one, other],
    [other, one],
  ] as const) {
    if (typeof value !== "string" || param.type !== "NumberLiteral" || typeof number !== "number") continue;
    const written = sourceOf(param, run.source);
    const what = `eq compares the text ${JSON.stringify(value)} with the number ${written}, which are never equal`;
    throw refuse(run, param, syntax(what, `write "${written}"`));
  }
  return one.value === other.value;
}

/** Null, no, an empty text and an empty list count as no. */
export function holds(value: unknown): boolean {
  const held = typeof value === "object" ? (textOf(value) ?? value) : value;
  return Boolean(held) && !(Array.isArray(held) && held.length === 0);
}

/** The text of what is printed or compared, or null for a mapping, a list and nothing. */
export function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value !== "object") return String(value);
  const text = (value as { readonly [textSymbol]?: unknown })[textSymbol];
  return typeof text === "string" ? text : null;
}
