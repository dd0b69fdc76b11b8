/**
 * A template's tree and a view → text. Handlebars' strict mode answers nothing for many names that do not exist: `{{#if a.b}}`, below block
 * parameters and texts. A Proxy as view knows neither the line nor the name as it is written; a helper around every name saves an eighth
 * of the code and takes seven times as long. Here every path goes through one strict look (`look-up.ts`).
 */

import { assertNever, type ImgmatchError, InternalError } from "../../errors.ts";
import { type BlockHelper, isBlockHelper } from "./check-template.ts";
import { answer, holds, textOf, valueAt } from "./evaluate-expression.ts";
import type { Partials } from "./partials.ts";
import { type Data, type Evaluated, refuse, type Scope } from "./look-up.ts";
import { nothingToPrint, notText } from "./template-problems.ts";
import { sourceOf, type TemplateSource } from "./template-syntax.ts";

interface Run extends Evaluated {
  readonly partials: Partials;
  /** Statements and characters that are left before the template counts as endless, partials included. */
  readonly left: { steps: number; characters: number };
}

// Loops in loops over a handful of names grow exponentially with their depth.
const mostSteps = 1_000_000;
const longestText = 4 * 1024 * 1024;

/** Throws `TEMPLATE_UNKNOWN_NAME` and `TEMPLATE_SYNTAX` with the place, and `INPUT_TOO_LARGE`. */
export function evaluateTemplate(
  source: TemplateSource,
  view: object,
  cell: string,
  partials: Partials = new Map(),
): string {
  const run: Run = { source, cell, partials, left: { steps: mostSteps, characters: longestText } };
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
    if (--run.left.steps < 0) throw endless(run, statement, `${mostSteps} statements`);
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
      // A list with commas between its items, as where it is named.
      const text = params.length > 0 ? String(answer(run, path, params, scope)) : printed(run, path, scope);
      return counted(run, statement, text);
    }
    case "PartialStatement":
      return partialText(run, statement as hbs.AST.PartialStatement, scope);
    case "BlockStatement":
      return blockText(run, statement as hbs.AST.BlockStatement, scope);
    default:
      throw new InternalError(`a template's ${statement.type} was not refused`);
  }
}

/** Sees what its place sees. One that stands alone on its line is moved in as far as that. */
function partialText(run: Run, { name, indent }: hbs.AST.PartialStatement, scope: Scope): string {
  const source = run.partials.get((name as hbs.AST.PathExpression).original);
  if (source === undefined) throw new InternalError("a partial that is not there was not refused");
  const text = programText({ ...run, source }, source.tree, scope);
  return indent === "" ? text : text.replace(/^(?=.)/gm, indent);
}

function counted(run: Run, node: hbs.AST.Node, text: string): string {
  run.left.characters -= text.length;
  if (run.left.characters < 0) throw endless(run, node, `${longestText} characters`);
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

function endless(run: Run, node: hbs.AST.Node, limit: string): ImgmatchError {
  return refuse(run, node, (at) => ({
    code: "INPUT_TOO_LARGE",
    message: `the template comes to more than ${limit} for cell ${run.cell}`,
    fix: "take loops out of loops",
    at,
  }));
}
