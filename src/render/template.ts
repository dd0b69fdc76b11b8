/** Handlebars, made strict: unknown names and helpers are errors with a place, and nothing is HTML-escaped. */

import Handlebars from "handlebars";
import { ImgmatchError, InternalError, type Place, type Problem } from "../errors.ts";
import { suggest } from "../matrix/suggest.ts";
import { guardView, NothingToPrintError, NotTextError, UnknownNameError } from "./guarded-view.ts";
import { lookup, lookupPath, makePathsStrict, walk } from "./strict-paths.ts";
import type { TemplateView } from "./view.ts";

export interface Template {
  /** Throws `TEMPLATE_UNKNOWN_NAME` when the template names something that the view does not have. */
  render(view: TemplateView): string;
}

const blockHelpers = ["if", "unless", "each", "with"] as const;

/**
 * Compiles a Dockerfile template. Throws `TEMPLATE_SYNTAX` with the place.
 *
 * @example
 * compileTemplate("FROM {{base}}\n", "app.hbs").render(view);
 */
export function compileTemplate(source: string, file: string): Template {
  const text = source.replaceAll("\r\n", "\n");
  const handlebars = Handlebars.create();
  // What could look outside the view is taken away; what remains is flow control and eq, the one comparison.
  for (const name of Object.keys(handlebars.helpers)) {
    if (!(blockHelpers as readonly string[]).includes(name)) handlebars.unregisterHelper(name);
  }
  handlebars.registerHelper("eq", (one: unknown, other: unknown) => one === other);
  const tree = parse(handlebars, text, file);
  checkHelpers(tree, text, file);
  const strict = parse(handlebars, text, file);
  makePathsStrict(strict);
  handlebars.registerHelper(lookup, lookupPath);
  const compiled = handlebars.compile(strict, {
    noEscape: true,
    strict: true,
    knownHelpersOnly: true,
    knownHelpers: {
      [lookup]: true,
      eq: true,
      if: true,
      unless: true,
      each: true,
      with: true,
      log: false,
      lookup: false,
    },
  });
  return {
    render(view) {
      try {
        return compiled(guardView(view), {
          allowProtoPropertiesByDefault: true,
          allowProtoMethodsByDefault: false,
        });
      } catch (error) {
        throw renderError(error, view.cell, tree, text, file);
      }
    },
  };
}

function parse(handlebars: typeof Handlebars, text: string, file: string): hbs.AST.Program {
  try {
    return handlebars.parse(text);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new ImgmatchError(describeSyntaxError(message, text, file), { cause: error });
  }
}

const dataNames = ["root", "index", "key", "first", "last"];

/** Handlebars says `Parse error on line 3: … got 'EOF'` or `if doesn't match each - 1:5`. */
function describeSyntaxError(message: string, text: string, file: string): Problem {
  const code = "TEMPLATE_SYNTAX";
  const [, open, close, row, column] = /^(\S+) doesn't match (\S+) - (\d+):(\d+)/.exec(message) ?? [];
  if (open !== undefined) {
    const at = placeIn(text, file, Number(row), Number(column) + 1);
    return { code, message: `{{#${open}}} ends with {{/${close}}}`, fix: `write {{/${open}}}`, at };
  }
  const line = /on line (\d+)/.exec(message)?.[1];
  const at = line === undefined ? { file } : placeIn(text, file, Number(line));
  return /got 'EOF'/.test(message)
    ? {
        code,
        message: "the template ends inside a block",
        fix: "add the {{/if}} or {{/each}} that is missing",
        at,
      }
    : {
        code,
        message: "no template: a {{…}} cannot be read here",
        fix: "correct it, or write \\{{ for the text {{",
        at,
      };
}

/** Partials, decorators and helpers other than the few known ones cannot work here: say so before the first cell. */
function checkHelpers(tree: hbs.AST.Program, text: string, file: string): void {
  const problems: Problem[] = [];
  walk(tree, (node) => {
    if (/^(Partial|Decorator)/.test(node.type)) {
      problems.push(templateProblem("partials and decorators are not available", node, text, file));
    }
    const path = node as hbs.AST.PathExpression;
    if (node.type === "PathExpression" && path.data && !dataNames.includes(path.parts[0] ?? "")) {
      problems.push(
        unknownName(
          path.original,
          dataNames.map((name) => `@${name}`),
          placeOfNode(node, text, file),
        ),
      );
    }
    const call = node as hbs.AST.MustacheStatement;
    const isCall = node.type === "SubExpression" || ((call.params?.length ?? 0) > 0 && "path" in call);
    if (!isCall && node.type !== "BlockStatement") return;
    const name = (call.path as hbs.AST.PathExpression).original;
    if (name === "eq" && node.type !== "BlockStatement") return;
    if (node.type === "BlockStatement" && (blockHelpers as readonly string[]).includes(name)) return;
    problems.push(templateProblem(`unknown helper ${JSON.stringify(name)}`, node, text, file));
  });
  const [first, ...rest] = problems;
  if (first !== undefined) throw new ImgmatchError([first, ...rest]);
}

function templateProblem(message: string, node: hbs.AST.Node, text: string, file: string): Problem {
  const fix = "if, unless, each, with and (eq a b) are the helpers there are";
  return { code: "TEMPLATE_SYNTAX", message, fix, at: placeOfNode(node, text, file) };
}

function renderError(error: unknown, cell: string, tree: hbs.AST.Program, text: string, file: string): Error {
  const placeOf = (name: string) => findName(tree, name, text, file) ?? { file };
  const found = describeRenderError(error, cell, placeOf, (line, column) =>
    placeIn(text, file, line, column),
  );
  if (found === null) return new InternalError(`the template ${file} cannot be rendered`, { cause: error });
  return new ImgmatchError(found, { cause: error });
}

/** null for what is no mistake of the template. */
function describeRenderError(
  error: unknown,
  cell: string,
  placeOf: (name: string) => Place,
  placeAt: (line: number, column: number) => Place,
): Problem | null {
  if (error instanceof UnknownNameError) {
    const { unknown, known, at } = error;
    return unknownName(unknown, known, at === null ? placeOf(unknown) : placeAt(at.line, at.column));
  }
  if (error instanceof NothingToPrintError) {
    const { path, at } = error;
    return {
      code: "TEMPLATE_UNKNOWN_NAME",
      message: `the template prints ${JSON.stringify(path)}, which cell ${cell} does not have`,
      fix:
        path === "base"
          ? "add base: to the entry of its cuda axis, or once at the top of the matrix"
          : `put it into {{#if ${path}}}…{{/if}}`,
      at: placeAt(at.line, at.column),
    };
  }
  if (error instanceof NotTextError) {
    const [name, below] = error.path === "" ? ["this", ""] : [error.path, `${error.path}.`];
    return {
      code: "TEMPLATE_SYNTAX",
      message: `the template prints ${JSON.stringify(name)}, which is no text`,
      fix: `name one of its keys: ${error.keys.map((key) => below + key).join(", ")}`,
      at: placeOf(name),
    };
  }
  const message = error instanceof Error ? error.message : "";
  const [, absent, line, column] = /"([^"]+)" not defined in .* - (\d+):(\d+)/s.exec(message) ?? [];
  if (absent !== undefined) return unknownName(absent, [], placeAt(Number(line), Number(column) + 1));
  const [, helper] =
    /^#(\w+) requires exactly one argument|^Must pass iterator to #(each)/.exec(message) ?? [];
  if (helper === undefined) return null;
  const fix = `write {{#${helper} name}}`;
  return { code: "TEMPLATE_SYNTAX", message: `${helper} needs exactly one name`, fix, at: placeOf(helper) };
}

function unknownName(name: string, known: readonly string[], at: Place): Problem {
  const near = suggest(name.slice(name.lastIndexOf(".") + 1), known);
  const parent = name.slice(0, Math.max(0, name.lastIndexOf(".")));
  const here =
    known.length > 0
      ? `here are ${known.join(", ")}`
      : `${parent || "this"} has no keys in every cell; ask {{#if ${parent || "…"}}} before`;
  return {
    code: "TEMPLATE_UNKNOWN_NAME",
    message: `the template names ${JSON.stringify(name)}, which does not exist`,
    fix: near === null ? here : `did you mean ${near}? ${here}`,
    at,
  };
}

function findName(tree: hbs.AST.Program, name: string, text: string, file: string): Place | null {
  let found: Place | null = null;
  walk(tree, (node) => {
    if (found !== null || node.type !== "PathExpression") return;
    const path = (node as hbs.AST.PathExpression).parts.join(".");
    if (path === name || path.startsWith(`${name}.`) || name.endsWith(`.${path}`)) {
      found = placeOfNode(node, text, file);
    }
  });
  return found;
}

function placeOfNode({ loc }: hbs.AST.Node, text: string, file: string): Place {
  return placeIn(text, file, loc.start.line, loc.start.column + 1);
}

function placeIn(text: string, file: string, line: number, column?: number): Place {
  const source = text.split("\n")[line - 1];
  return {
    file,
    line,
    ...(column === undefined ? {} : { column }),
    ...(source === undefined ? {} : { text: source }),
  };
}
