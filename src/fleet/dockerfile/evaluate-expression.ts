/** The expressions of a template → values: names, literals, and what `eq`, `and` and the like answer. */

import { parseAmdTarget } from "../../hardware/amd-target.ts";
import { type GpuTarget, readTargets } from "../../hardware/gpu-target.ts";
import { assertNever, InternalError } from "../../errors.ts";
import { type ExpressionHelperName, isExpressionHelper } from "./check-template.ts";
import { type Evaluated, lookUp, refuse, type Scope } from "./look-up.ts";
import { nothingToPrint, notText } from "./template-problems.ts";
import { sourceOf } from "./template-syntax.ts";
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
    case "join":
      return joined(run, params, scope);
    case "sm":
    case "dotted":
    case "cmake":
    case "gencode":
      return targetForms[helper](targetsAt(run, params, scope));
    default:
      return assertNever(helper);
  }
}

const targetForms = { sm: smForms, dotted: dottedForms, cmake: cmakeForms, gencode: gencodeForms } as const;

function joined(run: Evaluated, [list, between]: readonly hbs.AST.Expression[], scope: Scope): string {
  if (list === undefined || between === undefined)
    throw new InternalError("join without two values was not refused");
  return itemsAt(run, list, scope).join(textOf(valueAt(run, between, scope)) ?? "");
}

function targetsAt(
  run: Evaluated,
  [list]: readonly hbs.AST.Expression[],
  scope: Scope,
): readonly GpuTarget[] {
  if (list === undefined) throw new InternalError("a form of targets without a list was not refused");
  return itemsAt(run, list, scope).flatMap((item) => {
    const targets = readTargets(item);
    if (targets !== null) return targets;
    throw refuse(run, list, (at) => ({
      code: "TEMPLATE_SYNTAX",
      message: `${JSON.stringify(item)} in ${sourceOf(list, run.source)} is no GPU target of NVIDIA for cell ${run.cell}`,
      fix:
        parseAmdTarget(item) === null
          ? 'write targets as "9.0", "9.0+ptx" or "sm_90", or join the list as it is: (join list ";")'
          : 'it is AMD\'s: write {{gpu.offload}} or (join list ";"), inside {{#if rocm}}',
      at,
    }));
  });
}

/** A text is a list of one. */
function itemsAt(run: Evaluated, list: hbs.AST.Expression, scope: Scope): readonly string[] {
  const value = valueAt(run, list, scope);
  const texts = (Array.isArray(value) ? value : [value]).map(textOf);
  if (texts.every((text) => text !== null)) return texts;
  const source = sourceOf(list, run.source);
  throw refuse(run, list, (at) =>
    value === null
      ? nothingToPrint(source, run.cell, at)
      : {
          code: "TEMPLATE_SYNTAX",
          message: `${source} is a mapping, and no list`,
          fix: 'write (join gpu.targets ";")',
          at,
        },
  );
}

/** Whether a list has a text, or a text a part; nothing includes nothing. */
function isIncluded(run: Evaluated, [list, item]: readonly hbs.AST.Expression[], scope: Scope): boolean {
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
function isEqual(run: Evaluated, params: readonly hbs.AST.Expression[], scope: Scope): boolean {
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
