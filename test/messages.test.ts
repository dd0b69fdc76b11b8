/** Rules of wording that a reader of one message cannot see. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { expect, test } from "vitest";

const files = readdirSync("src", { recursive: true, encoding: "utf8" })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => path.endsWith(".ts") && !path.startsWith("cover/page/browser/"))
  .sort();

test("the help of a command is named by the one place that adds it", () => {
  const named = files.filter((path) =>
    /see imgmatch\b.*--help/.test(readFileSync(join("src", path), "utf8")),
  );
  expect(named).toEqual([]);
});

/** They print it with its lines, or look for words in it. */
const whole = new Set(["errors.ts", "fleet/engines/source-date-epoch.ts", "pulumi/program-error.ts"]);

/** Such a message has a line for each problem and each fix, and in a line `\u000a` stands for a line break. */
test("no line takes the message of an ImgmatchError whole", () => {
  const program = ts.createProgram(
    files.map((path) => join("src", path)),
    {
      ...{ module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2023, strict: true, noEmit: true },
      // The types of the sources are enough, and fast.
      ...{ allowImportingTsExtensions: true, noResolve: true, types: [], lib: ["lib.es5.d.ts"] },
    },
  );
  const checker = program.getTypeChecker();
  const isError = (type: ts.Type): boolean =>
    type.isUnion()
      ? type.types.some(isError)
      : type.getProperty("problems") !== undefined && type.getProperty("stack") !== undefined;
  const taken = (node: ts.Node): boolean =>
    ts.isPropertyAccessExpression(node)
      ? node.name.text === "message" && isError(checker.getTypeAtLocation(node.expression))
      : // Narrowed from unknown, it may be one.
        ts.isConditionalExpression(node) && /instanceof Error \? \w+\.message/.test(node.getText());
  const found: string[] = [];
  for (const path of files.filter((path) => !whole.has(path))) {
    const visit = (node: ts.Node): void => {
      if (taken(node)) found.push(`${path}: ${node.getText()}`);
      ts.forEachChild(node, visit);
    };
    const source = program.getSourceFile(join("src", path));
    if (source === undefined) throw new Error(path);
    visit(source);
  }
  expect(found).toEqual([]);
});
