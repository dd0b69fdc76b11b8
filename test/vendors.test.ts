import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";
import { isTable } from "./support/vendor-tables.ts";

/** The vendors' names, and the names of their sides in a requirement. */
const names = new Set(["nvidia", "amd", "cuda", "rocm"]);

/** Files and folders that are one vendor's. */
const isVendors = (path: string) => /(^|[/-])(nvidia|amd|cuda|rocm|nvml)([/.-]|$)/.test(path);

/** The places outside a table and a vendor's file that ask for a vendor all the same, each with its reason. */
const allowed: Readonly<Record<string, string>> = {
  "facts/broken-states.ts nvidia == null":
    "the rows are states of NVIDIA's driver and GPUs; a host without them has none",
  "cli/prove.ts nvidia === null":
    "prove asks the driver of NVIDIA alone, and prints nothing of a machine that has none",
};

function isLiteral(node: ts.Node): boolean {
  return ts.isStringLiteralLike(node) && names.has(node.text);
}

/** `cuda`, `image.requires.cuda`, `cuda?.or`'s `cuda` */
function isSide(node: ts.Node): boolean {
  if (ts.isParenthesizedExpression(node) || ts.isNonNullExpression(node)) return isSide(node.expression);
  if (ts.isIdentifier(node)) return names.has(node.text);
  return ts.isPropertyAccessExpression(node) && names.has(node.name.text);
}

const equalities = new Set([
  ts.SyntaxKind.EqualsEqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsEqualsToken,
  ts.SyntaxKind.EqualsEqualsToken,
  ts.SyntaxKind.ExclamationEqualsToken,
]);
const choices = new Set([
  ts.SyntaxKind.QuestionQuestionToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.AmpersandAmpersandToken,
]);

function isNothing(node: ts.Node): boolean {
  return node.kind === ts.SyntaxKind.NullKeyword || (ts.isIdentifier(node) && node.text === "undefined");
}

/** A choice by a vendor: a comparison with a name, a question whether a side is there. */
function isBranch(node: ts.Node): boolean {
  if (ts.isBinaryExpression(node)) {
    const { left, right, operatorToken } = node;
    if (equalities.has(operatorToken.kind))
      return (
        isLiteral(left) ||
        isLiteral(right) ||
        (isSide(left) && isNothing(right)) ||
        (isSide(right) && isNothing(left))
      );
    return choices.has(operatorToken.kind) && isSide(left);
  }
  if (ts.isCaseClause(node)) return isLiteral(node.expression);
  if (ts.isConditionalExpression(node)) return isSide(node.condition);
  if (ts.isIfStatement(node)) return isSide(node.expression);
  if (ts.isPrefixUnaryExpression(node))
    return node.operator === ts.SyntaxKind.ExclamationToken && isSide(node.operand);
  if (ts.isPropertyAccessExpression(node))
    return node.questionDotToken !== undefined && isSide(node.expression);
  if (ts.isCallExpression(node))
    return (
      ts.isPropertyAccessExpression(node.expression) &&
      /^(includes|has|startsWith|indexOf)$/.test(node.expression.name.text) &&
      node.arguments.some(isLiteral)
    );
  return false;
}

function branchesIn(path: string, text: string): string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (isTable(node, file)) return;
    if (isBranch(node)) {
      const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
      found.push(`${path}:${line + 1} ${node.getText(file).split("\n")[0]}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

test("a vendor is asked for in tables and in its own files alone", () => {
  const paths = readdirSync("src", { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".ts") && !isVendors(path))
    .sort();
  const found = paths.flatMap((path) => branchesIn(path, readFileSync(join("src", path), "utf8")));
  expect(found.filter((place) => allowed[place.replace(/:\d+ /, " ")] === undefined)).toEqual([]);
});
