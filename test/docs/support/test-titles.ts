/** The titles of a file's tests, read from its source: nothing runs, and tests that this machine would skip count too. */

import ts from "typescript";

/** Stands for what only the run knows: a value in a template, a row that is computed. */
const unknown = "…";

/** Titles as they are printed, with `…` for what the source does not say. Tests that never run (`skip`, `todo`) have none. */
export function testTitles(source: string): readonly string[] {
  const file = ts.createSourceFile("a.test.ts", source, ts.ScriptTarget.Latest, true);
  const titles: string[] = [];
  const visit = (node: ts.Node): void => {
    const called = ts.isCallExpression(node) ? calledTest(node.expression) : null;
    if (ts.isCallExpression(node) && called !== null) {
      if (called.never) return;
      const [title] = node.arguments;
      if (called.name !== "describe" && title !== undefined && node.arguments.length > 1)
        titles.push(...rowsOf(called.table).flatMap((row) => textsOf(title).map((text) => fill(text, row))));
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return titles;
}

/** Whether a title holds these words; `…` in them leaves out any text, so that no value needs to be repeated. */
export function holds(title: string, words: string): boolean {
  let from = 0;
  for (const part of words.split(unknown).map((text) => text.trim())) {
    const at = title.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return true;
}

interface CalledTest {
  readonly name: string;
  readonly never: boolean;
  /** Argument of `each` or `for`. */
  readonly table: ts.Expression | null;
}

/** `it`, `test.skipIf(…)`, `describe.each(…)` and what else may stand before the title's parenthesis. */
function calledTest(called: ts.Expression): CalledTest | null {
  let [expression, never, table] = [called, false, null as ts.Expression | null];
  for (;;) {
    if (ts.isIdentifier(expression)) {
      const name = expression.text;
      return ["it", "test", "describe"].includes(name) ? { name, never, table } : null;
    }
    if (ts.isCallExpression(expression)) {
      const inner = expression.expression;
      if (ts.isPropertyAccessExpression(inner) && ["each", "for"].includes(inner.name.text))
        table = expression.arguments[0] ?? null;
      expression = inner;
    } else if (ts.isPropertyAccessExpression(expression)) {
      if (["skip", "todo"].includes(expression.name.text)) never = true;
      expression = expression.expression;
    } else return null;
  }
}

/** What a title can be: both sides of a condition. */
function textsOf(title: ts.Expression): readonly string[] {
  if (ts.isStringLiteralLike(title)) return [title.text];
  if (ts.isConditionalExpression(title)) return [...textsOf(title.whenTrue), ...textsOf(title.whenFalse)];
  if (ts.isTemplateExpression(title))
    return [title.head.text + title.templateSpans.map(({ literal }) => unknown + literal.text).join("")];
  return [unknown];
}

type Row = ReadonlyMap<string, string>;

/** Values by their place (`0`) and name; one row without values where the source does not list them. */
function rowsOf(table: ts.Expression | null): readonly Row[] {
  if (table === null || !ts.isArrayLiteralExpression(table)) return [new Map()];
  return table.elements.map((row) => {
    if (ts.isArrayLiteralExpression(row))
      return new Map(row.elements.map((value, at) => [String(at), literalOf(value)]));
    if (!ts.isObjectLiteralExpression(row)) return new Map([["0", literalOf(row)]]);
    const members = row.properties.filter(ts.isPropertyAssignment);
    return new Map(members.map(({ name, initializer }) => [name.getText(), literalOf(initializer)]));
  });
}

function literalOf(value: ts.Expression): string {
  return ts.isStringLiteralLike(value) || ts.isNumericLiteral(value) ? value.text : unknown;
}

/** vitest's own formats: `%s` takes the next value, `$name` the member of that name. */
function fill(title: string, row: Row): string {
  let next = 0;
  return title
    .replace(/%[sdifjo]/g, () => row.get(String(next++)) ?? unknown)
    .replace(/\$(\w+)/g, (_, name: string) => row.get(name) ?? unknown);
}
