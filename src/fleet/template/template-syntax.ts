/** Parses a template with Handlebars. Errors of syntax have a place and the right form. */

import Handlebars from "handlebars";
import { faultOf, ImgmatchError, type Place, type Problem } from "../../errors.ts";
import { inputLimits, requireSize } from "../../io/limits.ts";

/** A parsed template. */
export interface TemplateSource {
  readonly file: string;
  /** With `\n` line ends. */
  readonly text: string;
  /** The text's lines, split once: a template can have a mistake in every line. */
  readonly lines: readonly string[];
  readonly tree: hbs.AST.Program;
}

// Handlebars visits blocks by recursion, with a level for each `else if` of a chain.
const deepestBlock = 200;

/** Throws `TEMPLATE_SYNTAX`, and `INPUT_TOO_LARGE` before anything is parsed. */
export function parseTemplate(source: string, file: string): TemplateSource {
  requireSize(source, inputLimits.template, { file });
  const text = source.replaceAll("\r\n", "\n");
  const lines = text.split("\n");
  checkDepth(text, lines, file);
  try {
    return { file, text, lines, tree: Handlebars.parse(text) };
  } catch (error) {
    const message = faultOf(error);
    throw new ImgmatchError(describeSyntaxError(message, lines, file), { cause: error });
  }
}

/** Counts blocks in comments too: nobody comments out 200 open blocks. */
function checkDepth(text: string, lines: readonly string[], file: string): void {
  const opened: number[] = [];
  let depth = 0;
  for (const { 1: mark, index } of text.matchAll(/\{\{\{{0,2}~?([#^/]|else\s)/g)) {
    if (mark === "/") depth -= opened.pop() ?? 0;
    else {
      depth++;
      // One `{{/if}}` ends a whole chain of `{{else if}}`.
      if (mark === "#" || mark === "^") opened.push(1);
      else opened.push((opened.pop() ?? 0) + 1);
    }
    if (depth <= deepestBlock) continue;
    const line = text.slice(0, index).split("\n").length;
    const message = `blocks are nested deeper than ${deepestBlock}`;
    const fix = "write the choices side by side";
    throw new ImgmatchError({ code: "INPUT_TOO_LARGE", message, fix, at: placeIn(lines, file, line) });
  }
}

/** Handlebars says `Parse error on line 3: … got 'EOF'` or `if doesn't match each - 1:5`. */
function describeSyntaxError(message: string, lines: readonly string[], file: string): Problem {
  const code = "TEMPLATE_SYNTAX";
  const [, open, close, row, column] = /^(\S+) doesn't match (\S+) - (\d+):(\d+)/.exec(message) ?? [];
  if (open !== undefined) {
    const at = placeIn(lines, file, Number(row), Number(column) + 1);
    return { code, message: `{{#${open}}} ends with {{/${close}}}`, fix: `write {{/${open}}}`, at };
  }
  const line = /on line (\d+)/.exec(message)?.[1];
  const at = line === undefined ? { file } : placeIn(lines, file, Number(line));
  if (/got 'EOF'/.test(message)) {
    const fix = "add the {{/if}} or {{/each}} that is missing";
    return { code, message: "the template ends inside a block", fix, at };
  }
  const what = "no template: a {{…}} cannot be read here";
  const fix = comparison(at.text ?? "") ?? "correct it, or write \\{{ for the text {{";
  return { code, message: what, fix, at };
}

/** `{{#if a == "b"}}`, as other template languages compare. */
function comparison(line: string): string | null {
  const [, block, one, other] =
    /\{\{(#if|#unless|else if)\s{1,9}\(?([\w.@/]{1,99})\s{0,9}={1,3}\s{0,9}([\w.@/]{1,99}|"[^"]{0,99}"|'[^']{0,99}')/.exec(
      line,
    ) ?? [];
  return block === undefined ? null : `write {{${block} (eq ${one} ${other})}}`;
}

/** Visits every node of a tree, parents first. */
export function walkTree(value: unknown, visit: (node: hbs.AST.Node) => void): void {
  if (Array.isArray(value)) {
    for (const item of value) walkTree(item, visit);
  } else if (typeof value === "object" && value !== null) {
    if ("type" in value && "loc" in value) visit(value as hbs.AST.Node);
    for (const [key, child] of Object.entries(value)) if (key !== "loc") walkTree(child, visit);
  }
}

/** The name of a helper, a partial or a value, as it is written. */
export function nameOf(path: hbs.AST.Expression): string {
  return String((path as hbs.AST.PathExpression).original ?? "(…)");
}

export function placeOfNode({ loc }: hbs.AST.Node, { lines, file }: TemplateSource): Place {
  return placeIn(lines, file, loc.start.line, loc.start.column + 1);
}

/** The node as it is written. */
export function sourceOf({ loc }: hbs.AST.Node, { lines }: TemplateSource): string {
  const written = lines.slice(loc.start.line - 1, loc.end.line);
  const last = written.pop() ?? "";
  const whole = [...written, last.slice(0, loc.end.column)].join("\n");
  return whole.slice(loc.start.column);
}

function placeIn(lines: readonly string[], file: string, line: number, column?: number): Place {
  const source = lines[line - 1];
  return {
    file,
    line,
    ...(column === undefined ? {} : { column }),
    ...(source === undefined ? {} : { text: source }),
  };
}
