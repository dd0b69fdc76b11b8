/**
 * A template's tree and a view → text. Handlebars' strict mode answers nothing for many names that do not exist: `{{#if a.b}}`, below block
 * parameters and texts. A Proxy as view knows neither the line nor the name as it is written; a helper around every name saves an eighth
 * of the code and takes seven times as long. Here every path goes through one strict look (`look-up.ts`).
 */

import { assertNever, type ImgmatchError, InternalError } from "../../errors.ts";
import { isBlockHelper } from "./check-template.ts";
import { answer, holds, textOf, valueAt } from "./evaluate-expression.ts";
import type { Partials } from "./partials.ts";
import { type Data, type Evaluated, refuse, type Scope } from "./look-up.ts";
import { nothingToPrint, notText, syntax } from "./template-problems.ts";
import { nameOf, sourceOf, type TemplateSource } from "./template-syntax.ts";

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
  const source = run.partials.get(nameOf(name));
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
  const name = nameOf(block.path);
  const [param] = block.params;
  if (!isBlockHelper(name) || param === undefined)
    throw new InternalError(`a template's block ${name} was not refused`);
  const value = valueAt(run, param, scope);
  const { program, inverse } = block;
  switch (name) {
    case "if":
      return programText(run, holds(value) ? program : inverse, scope);
    case "unless":
      return programText(run, holds(value) ? inverse : program, scope);
    case "with":
      if (!holds(value) && value !== 0) return programText(run, inverse, scope);
      return programText(run, program, below(scope, value, scope.data, program, [value]));
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
        return programText(run, program, below(scope, item, data, program, [item, key]));
      });
      return texts.join("");
    }
    default:
      return assertNever(name);
  }
}

/** The scope inside a block. `values` have the names of `as |value key|`. */
function below(
  outer: Scope,
  context: unknown,
  data: Data,
  program: hbs.AST.Program | undefined,
  values: readonly unknown[],
): Scope {
  const own = (program?.blockParams ?? []).map((name, index) => [name, values[index]] as const);
  const blockParams = own.length === 0 ? outer.blockParams : new Map([...outer.blockParams, ...own]);
  return { context, outer, data, blockParams };
}

function itemsOf(
  run: Run,
  param: hbs.AST.Expression,
  value: unknown,
): (readonly [string | number, unknown])[] {
  if (value === null) return [];
  if (Array.isArray(value)) return value.map((item, index) => [index, item] as const);
  if (typeof value === "object") return Object.entries(value as object);
  const written = sourceOf(param, run.source);
  throw refuse(
    run,
    param,
    syntax(`each needs a list or a mapping, ${written} is a text`, `write {{${written}}}`),
  );
}

function printed(run: Run, path: hbs.AST.Expression, scope: Scope): string {
  const value = valueAt(run, path, scope);
  const name = nameOf(path);
  if (value === null) throw refuse(run, path, nothingToPrint(name, run.cell));
  if (Array.isArray(value)) return value.join(",");
  const text = textOf(value);
  if (text === null) throw refuse(run, path, notText(name, "prints", Object.keys(value as object)));
  return text;
}

function endless(run: Run, node: hbs.AST.Node, limit: string): ImgmatchError {
  const message = `the template comes to more than ${limit} for cell ${run.cell}`;
  return refuse(run, node, { code: "INPUT_TOO_LARGE", message, fix: "take loops out of loops" });
}
