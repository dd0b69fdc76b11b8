/**
 * A template's tree and a view → text. Every path goes through one strict look-up (`evaluate-expression.ts`), because the alternatives fall
 * short: Handlebars' strict mode lets unknown names pass in `{{#if a.b}}` and below block parameters and texts; a Proxy as view knows
 * neither the line nor the name as it is written; a helper around every name takes seven times as long.
 */

import { assertNever, type ImgmatchError, InternalError } from "../../errors.ts";
import { isBlockHelper } from "./check-template.ts";
import { answer, type Data, holds, refuse, type Scope, textOf, valueAt } from "./evaluate-expression.ts";
import type { Partials } from "./partials.ts";
import { nothingToPrint, notText, syntax } from "./template-problems.ts";
import { nameOf, sourceOf, type TemplateSource } from "./template-syntax.ts";

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
  return programText(source.tree, {
    ...{ source, cell, partials },
    left: { statements: mostSteps, characters: longestText },
    context: view,
    outer: null,
    data: { root: view, outer: null },
    blockParams: new Map(),
  });
}

function programText(program: hbs.AST.Program | undefined, scope: Scope): string {
  let text = "";
  for (const statement of program?.body ?? []) {
    if (--scope.left.statements < 0) throw endless(statement, scope, `${mostSteps} statements`);
    text += statementText(statement, scope);
  }
  return text;
}

function statementText(node: hbs.AST.Statement, scope: Scope): string {
  const statement = node as
    | (hbs.AST.ContentStatement | hbs.AST.CommentStatement)
    | (hbs.AST.MustacheStatement | hbs.AST.PartialStatement | hbs.AST.BlockStatement);
  switch (statement.type) {
    case "ContentStatement":
      return counted(statement, statement.value, scope);
    case "CommentStatement":
      return "";
    case "MustacheStatement": {
      const isCall = statement.params.length > 0;
      // A list gets commas between its items, as a list that is named does.
      const text = isCall ? String(answer(statement, scope)) : printed(statement.path, scope);
      return counted(statement, text, scope);
    }
    case "PartialStatement":
      return partialText(statement, scope);
    case "BlockStatement":
      return blockText(statement, scope);
    default:
      throw new InternalError(`a template's ${node.type} was not refused`);
  }
}

/** A partial sees the names of its place. A partial alone on its line is indented as the line. */
function partialText({ name, indent }: hbs.AST.PartialStatement, scope: Scope): string {
  const source = scope.partials.get(nameOf(name));
  if (source === undefined) throw new InternalError("a partial that is not there was not refused");
  const text = programText(source.tree, { ...scope, source });
  return indent === "" ? text : text.replace(/^(?=.)/gm, indent);
}

function counted(node: hbs.AST.Node, text: string, scope: Scope): string {
  scope.left.characters -= text.length;
  if (scope.left.characters < 0) throw endless(node, scope, `${longestText} characters`);
  return text;
}

function blockText(
  { path, params: [param], program, inverse }: hbs.AST.BlockStatement,
  scope: Scope,
): string {
  const name = nameOf(path);
  if (!isBlockHelper(name) || param === undefined)
    throw new InternalError(`a template's block ${name} was not refused`);
  const value = valueAt(param, scope);
  switch (name) {
    case "if":
      return programText(holds(value) ? program : inverse, scope);
    case "unless":
      return programText(holds(value) ? inverse : program, scope);
    case "with":
      if (!holds(value) && value !== 0) return programText(inverse, scope);
      return programText(program, inside(program, scope, value, scope.data, [value]));
    case "each": {
      const items = itemsOf(param, value, scope);
      if (items.length === 0) return programText(inverse, scope);
      const texts = items.map(([key, item], index) => {
        const data: Data = {
          root: scope.data.root,
          index,
          key,
          first: index === 0,
          last: index === items.length - 1,
          outer: scope.data,
        };
        return programText(program, inside(program, scope, item, data, [item, key]));
      });
      return texts.join("");
    }
    default:
      return assertNever(name);
  }
}

/** The scope inside a block. `as |value key|` gives names to `values`. */
function inside(
  program: hbs.AST.Program | undefined,
  outer: Scope,
  context: unknown,
  data: Data,
  values: readonly unknown[],
): Scope {
  const named = (program?.blockParams ?? []).map((name, index) => [name, values[index]] as const);
  const blockParams = named.length === 0 ? outer.blockParams : new Map([...outer.blockParams, ...named]);
  return { ...outer, context, outer, data, blockParams };
}

function itemsOf(
  param: hbs.AST.Expression,
  value: unknown,
  scope: Scope,
): readonly (readonly [string | number, unknown])[] {
  if (value === null) return [];
  if (Array.isArray(value)) return value.map((item, index) => [index, item] as const);
  if (typeof value === "object") return Object.entries(value as object);
  const written = sourceOf(param, scope.source);
  const problem = syntax(`each needs a list or a mapping, ${written} is a text`, `write {{${written}}}`);
  throw refuse(param, scope, problem);
}

function printed(path: hbs.AST.Expression, scope: Scope): string {
  const value = valueAt(path, scope);
  const name = nameOf(path);
  if (value === null) throw refuse(path, scope, nothingToPrint(name, scope.cell));
  if (Array.isArray(value)) return value.join(",");
  const text = textOf(value);
  if (text === null) throw refuse(path, scope, notText(name, "prints", Object.keys(value as object)));
  return text;
}

function endless(node: hbs.AST.Node, scope: Scope, limit: string): ImgmatchError {
  const message = `the template comes to more than ${limit} for cell ${scope.cell}`;
  return refuse(node, scope, { code: "INPUT_TOO_LARGE", message, fix: "take loops out of loops" });
}
