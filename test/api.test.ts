/**
 * The library's public names with their types, as the declarations have them: `test/golden/api.txt`. A change of the API is
 * a change of that file, which somebody has to look at. `vitest -u` writes it.
 */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as library from "../src/index.ts";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const folder = mkdtempSync(join(tmpdir(), "imgmatch-api-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Name → declaration, as a program that imports the package gets them. */
let api: ReadonlyMap<string, string>;
const entries = ["index", "inspect", "resolve"];
/** Of all entries: a name means the same in each. */
let all: ReadonlyMap<string, string>;
beforeAll(() => {
  const tsc = join(root, "node_modules/typescript-native/bin/tsc");
  execFileSync(tsc, ["-p", "tsconfig.build.json", "--noCheck", "--outDir", folder], {
    cwd: root,
    stdio: "pipe",
  });
  api = exportsOf(join(folder, "index.d.ts"));
  const known = new Map<string, string>();
  for (const [name, declaration] of entries.flatMap((entry) => [
    ...exportsOf(join(folder, `${entry}.d.ts`)),
  ])) {
    if ((known.get(name) ?? declaration) !== declaration) throw new Error(`${name} means two things`);
    known.set(name, declaration);
  }
  all = known;
}, 240_000);

test("the public names and their types are those of test/golden/api.txt", async () => {
  const names = [...all.keys()].sort();
  // The modules export no name that the types lack.
  expect(Object.keys(library).filter((name) => !api.has(name))).toEqual([]);
  const text = names.map((name) => `${all.get(name)}\n`).join("\n");
  await expect(text).toMatchFileSnapshot(join(root, "test/golden/api.txt"));
});

/** Of the language and of Node.js. */
const known = new Set(
  "Promise Readonly ReadonlyMap ReadonlySet ReadonlyArray Record Pick Omit Extract Exclude NonNullable Partial Map Set Error AbortSignal Date RegExp Uint8Array ErrorOptions NodeJS AsyncIterable Iterable const".split(
    " ",
  ),
);

test("every type that an exported value is made of is exported too", () => {
  const text = [...all.values()].join("\n");
  const file = ts.createSourceFile("api.ts", text, ts.ScriptTarget.Latest, true);
  const named = new Map<string, string>();
  const visit = (node: ts.Node, owner: string, own: ReadonlySet<string>) => {
    const parameters =
      "typeParameters" in node ? (node.typeParameters as ts.NodeArray<ts.TypeParameterDeclaration>) : [];
    const all = new Set([...own, ...(parameters ?? []).map(({ name }) => name.text)]);
    if (ts.isTypeReferenceNode(node) && ts.isIdentifier(node.typeName) && !all.has(node.typeName.text))
      named.set(node.typeName.text, owner);
    if (ts.isExpressionWithTypeArguments(node)) named.set(node.expression.getText(), owner);
    ts.forEachChild(node, (child) => visit(child, owner, all));
  };
  // A function or a constant: what a program writes for its arguments, and gets.
  for (const statement of file.statements) {
    if (!ts.isFunctionDeclaration(statement) && !ts.isVariableStatement(statement)) continue;
    const owner = /(?:const|function|class|interface|type) (\w+)/.exec(statement.getText())?.[1] ?? "";
    visit(statement, owner, new Set());
    // A function that is handed ports is a constant of a type of its own.
    const type = `${owner.charAt(0).toUpperCase()}${owner.slice(1)}Function`;
    const signatures = file.statements.find(
      (each) =>
        (ts.isInterfaceDeclaration(each) || ts.isTypeAliasDeclaration(each)) && each.name.text === type,
    );
    if (signatures !== undefined) visit(signatures, owner, new Set());
  }
  expect(named.size).toBeGreaterThan(50);
  const missing = [...named].filter(([type]) => !all.has(type) && !known.has(type));
  expect(missing.map(([type, owner]) => `${type} of ${owner}`).sort()).toEqual([]);
});

test("docs/functions.md and docs/library.md name every exported value, and no other", () => {
  const functions = readFileSync(join(root, "docs/functions.md"), "utf8").matchAll(/^## (\w+)$/gm);
  const page = readFileSync(join(root, "docs/library.md"), "utf8");
  const names = page.slice(page.indexOf("A program also gets"), page.indexOf("## Parts"));
  const named = [...functions, ...names.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name);
  expect(named.toSorted()).toEqual(Object.keys(library).sort());
});

/** Name → declaration of everything that a `.d.ts` file exports, itself or from others. */
function exportsOf(file: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const statement of statementsOf(readFileSync(file, "utf8"))) {
    const [, isType, list, from] = /^export (type )?(\*|\{[^}]*\}) from "(.*)";/s.exec(statement) ?? [];
    if (list !== undefined && from !== undefined) {
      const other = exportsOf(join(dirname(file), from.replace(/\.(ts|js)$/, ".d.ts")));
      // `export type *` takes values too, as what `typeof` may ask: they are no promise.
      const isShown = (name: string) =>
        isType === undefined || !/^export declare (const|function)/.test(other.get(name) ?? "");
      for (const text of list === "*" ? [...other.keys()].filter(isShown) : namesIn(list)) {
        const [name = "", shown = name] = text.split(" as ");
        const declaration = other.get(name);
        if (declaration === undefined) throw new Error(`${from} does not export ${name}`);
        found.set(shown, declaration);
      }
      continue;
    }
    const [, name] =
      /^export (?:declare )?(?:const|function|class|interface|type|abstract class) (\w+)/.exec(statement) ??
      [];
    if (name !== undefined) found.set(name, [found.get(name), statement].filter(Boolean).join("\n"));
  }
  return found;
}

function namesIn(list: string): readonly string[] {
  return list
    .slice(1, -1)
    .split(",")
    .map((name) => name.trim().replace(/^type /, ""))
    .filter((name) => name !== "");
}

/** Top-level statements without comments: each begins in the first column with a word. */
function statementsOf(text: string): readonly string[] {
  return text
    .replace(/\/\*\*[\s\S]*?\*\//g, "")
    .replace(/^\s*\/\/.*\n/gm, "")
    .replace(/^[ \t]*\n/gm, "")
    .split(/^(?=(?:export|import|declare|type|interface|const)\b)/m)
    .map((statement) => statement.trimEnd());
}
