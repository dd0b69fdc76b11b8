/** Finds the tables of vendors in a source file: the compiler asks each for the row of every vendor. */

import ts from "typescript";

/** The node's declared type has a row for each vendor. */
export function isTable(node: ts.Node, file: ts.SourceFile): boolean {
  const type =
    ts.isSatisfiesExpression(node) || ts.isVariableDeclaration(node) || ts.isFunctionLike(node)
      ? node.type?.getText(file)
      : undefined;
  return type !== undefined && /\b(Record<\s*GpuVendor\b|By[A-Z]\w*|in GpuVendor\])/.test(type);
}

/** The object literals whose keys are the vendors, in tables. */
export function tablesIn(file: ts.SourceFile): readonly ts.ObjectLiteralExpression[] {
  const found: ts.ObjectLiteralExpression[] = [];
  const rows = (node: ts.Node): void => {
    if (ts.isObjectLiteralExpression(node) && isKeyedByVendor(node)) found.push(node);
    else ts.forEachChild(node, rows);
  };
  const visit = (node: ts.Node): void => {
    if (isTable(node, file)) rows(node);
    else ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function isKeyedByVendor({ properties }: ts.ObjectLiteralExpression): boolean {
  const keys = properties.map(({ name }) => name?.getText());
  return keys.includes("nvidia") && keys.includes("amd");
}
