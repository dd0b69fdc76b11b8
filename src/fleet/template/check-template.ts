/** Checks a template for mistakes that are the same in every cell: unknown helpers, wrong partials, options, a wrong number of values. */

import { type Problem, throwProblems } from "../../errors.ts";
import { dataNames, expressionHelpers } from "./evaluate-expression.ts";
import { isPartialName, type Partials, partialsHint } from "./partials.ts";
import { syntax, unknownName } from "./template-problems.ts";
import { nameOf, placeOfNode, sourceOf, type TemplateSource, walkTree } from "./template-syntax.ts";

const blockHelpers = ["if", "unless", "each", "with"] as const;
type BlockHelper = (typeof blockHelpers)[number];

/** Throws all mistakes together, as `TEMPLATE_SYNTAX` and `TEMPLATE_UNKNOWN_NAME`. */
export function checkTemplate(source: TemplateSource, partials: Partials = new Map()): void {
  const problems: Problem[] = [];
  walkTree(source.tree, (node) => problems.push(...problemsOf(node, source, partials)));
  throwProblems(problems);
}

export function isBlockHelper(name: string): name is BlockHelper {
  return (blockHelpers as readonly string[]).includes(name);
}

function problemsOf(node: hbs.AST.Node, source: TemplateSource, partials: Partials): Problem[] {
  switch (node.type) {
    case "PartialStatement":
      return partialProblems(node as hbs.AST.PartialStatement, source, partials);
    case "PartialBlockStatement":
    case "Decorator":
    case "DecoratorBlock":
      return [mistake("blocks of partials and decorators are not available", node, source)];
    case "PathExpression":
      return dataProblems(node as hbs.AST.PathExpression, source);
    case "BlockStatement":
      return blockProblems(node as hbs.AST.BlockStatement, source);
    case "MustacheStatement":
    case "SubExpression":
      return callProblems(node as hbs.AST.MustacheStatement | hbs.AST.SubExpression, source);
    case "Hash":
      return [optionProblem(node as hbs.AST.Hash, source)];
    default:
      return [];
  }
}

/** A partial takes no parameters: no place outside sees the names. */
function partialProblems(
  partial: hbs.AST.PartialStatement,
  source: TemplateSource,
  partials: Partials,
): Problem[] {
  const name = nameOf(partial.name);
  const refused = (message: string, fix = partialsHint) => [mistake(message, partial, source, fix)];
  if (partial.params.length > 0) return refused("a partial takes nothing but its name");
  if (!isPartialName(name)) return refused(`${sourceOf(partial, source)} names no file beside the template`);
  return partials.has(name)
    ? []
    : refused("partials are not available here", "write out what is to be put in");
}

/** `{{#if a = "b"}}` is meant as a comparison. */
function optionProblem(hash: hbs.AST.Hash, source: TemplateSource): Problem {
  const [pair] = hash.pairs;
  const fix = pair && `to compare, write {{#if (eq ${pair.key} ${sourceOf(pair.value, source)})}}`;
  return mistake("options as in name=value are not available", hash, source, fix);
}

function dataProblems(path: hbs.AST.PathExpression, source: TemplateSource): Problem[] {
  if (!path.data || (dataNames as readonly string[]).includes(path.parts[0] ?? "")) return [];
  const known = dataNames.map((name) => `@${name}`);
  return [{ ...unknownName(path.original, known), at: placeOfNode(path, source) }];
}

function blockProblems(block: hbs.AST.BlockStatement, source: TemplateSource): Problem[] {
  const name = nameOf(block.path);
  if (!isBlockHelper(name)) return [mistake(`unknown helper ${JSON.stringify(name)}`, block, source)];
  if (block.params.length === 1) return [];
  const params = block.params.map((param) => sourceOf(param, source));
  return [mistake(`${name} needs exactly one name`, block.path, source, blockFix(name, params))];
}

/** The form that the author most likely means: `{{#if eq a b}}` and `{{#if a b}}` are comparisons. */
function blockFix(name: BlockHelper, params: readonly string[]): string {
  const [first = ""] = params;
  if (name === "each" || name === "with") return `write {{#${name} name}}`;
  if (expressionHelpers.has(first)) return `write {{#${name} (${params.join(" ")})}}`;
  return params.length === 2
    ? `to compare, write {{#${name} (eq ${params.join(" ")})}}`
    : `write {{#${name} name}} or {{#${name} (eq name "text")}}`;
}

function callProblems(
  call: hbs.AST.MustacheStatement | hbs.AST.SubExpression,
  source: TemplateSource,
): Problem[] {
  const isCall = call.type === "SubExpression" || call.params.length > 0;
  if (!isCall && call.path.type !== "PathExpression")
    return [mistake("a {{…}} that names nothing", call, source, "write the text without {{ and }}")];
  if (!isCall) return [];
  const name = nameOf(call.path);
  const helper = expressionHelpers.get(name);
  if (helper === undefined) return [mistake(`unknown helper ${JSON.stringify(name)}`, call, source)];
  const count = call.params.length;
  const { takes, orMore, form } = helper;
  if (count === takes || (orMore && count > takes)) return [];
  const wanted = orMore ? `${takes} or more` : takes === 1 ? "one" : "two";
  return [mistake(`${name} takes ${wanted}, here are ${count}`, call, source, `write ${form}`)];
}

const helpersThereAre = `the helpers are ${[
  ...blockHelpers.map((name) => `{{#${name}}}`),
  ...Array.from(expressionHelpers.values(), ({ form }) => form),
].join(", ")}`;

function mistake(
  message: string,
  node: hbs.AST.Node,
  source: TemplateSource,
  fix = helpersThereAre,
): Problem {
  return { ...syntax(message, fix), at: placeOfNode(node, source) };
}

/** The names of the view that a text depends on; null if it may depend on all. Names of helpers and block parameters among them do no harm. */
export function namesIn({ tree }: TemplateSource): readonly string[] | null {
  const names = new Set<string | null>();
  walkTree(tree, (node) => {
    if (node.type !== "PathExpression") return;
    const { data, parts } = node as hbs.AST.PathExpression;
    names.add(data ? null : (parts[0] ?? null));
  });
  return names.has(null) ? null : [...names].filter((name) => name !== null);
}
