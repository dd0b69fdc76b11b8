/**
 * The library's public names with their types, as the declarations have them: `test/golden/api.txt`. A change of the API is
 * a change of that file, which somebody has to look at. `vitest -u` writes it.
 */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import * as library from "../src/index.ts";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const folder = mkdtempSync(join(tmpdir(), "imgmatch-api-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the public names and their types are those of test/golden/api.txt", async () => {
  const tsc = join(root, "node_modules/.bin/tsc");
  execFileSync(tsc, ["-p", "tsconfig.build.json", "--noCheck", "--outDir", folder], {
    cwd: root,
    stdio: "pipe",
  });
  const api = exportsOf(join(folder, "index.d.ts"));
  const names = [...api.keys()].sort();
  // What runs has no name that the types lack.
  expect(Object.keys(library).filter((name) => !api.has(name))).toEqual([]);
  const text = names.map((name) => `${api.get(name)}\n`).join("\n");
  await expect(text).toMatchFileSnapshot(join(root, "test/golden/api.txt"));
}, 60_000);

test("docs/library.md names every exported value, and no other", () => {
  const page = readFileSync(join(root, "docs/library.md"), "utf8");
  const table = page
    .slice(page.indexOf("## Names"))
    .split("\n")
    .filter((line) => line.startsWith("| "));
  const named = table.flatMap((row) => [...row.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name));
  expect(named.toSorted()).toEqual(Object.keys(library).sort());
});

/** Name → declaration of everything that a `.d.ts` file exports, itself or from others. */
function exportsOf(file: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const statement of statementsOf(readFileSync(file, "utf8"))) {
    const [, list, from] = /^export (?:type )?(\*|\{[^}]*\}) from "(.*)";/s.exec(statement) ?? [];
    if (list !== undefined && from !== undefined) {
      const other = exportsOf(join(dirname(file), from.replace(/\.(ts|js)$/, ".d.ts")));
      for (const text of list === "*" ? other.keys() : namesIn(list)) {
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
