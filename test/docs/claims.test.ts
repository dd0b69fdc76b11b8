/** Files and functions that the pages name are there. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { proseOf, readPages, root } from "./support/markdown.ts";

it.each(readPages())("every test file that $path names is there", ({ text }) => {
  const named = text.match(/\btest\/[\w./-]+\.test\.ts\b/g) ?? [];
  expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});

// Other pages name files of their readers' projects too.
const contributing = proseOf({
  path: "CONTRIBUTING.md",
  text: readFileSync(join(root, "CONTRIBUTING.md"), "utf8"),
});
/** From the root, or from `src/`. */
const found = (path: string) => [join(root, path), join(root, "src", path)].find(existsSync);

it("every path that CONTRIBUTING.md names is there", () => {
  const named = [...contributing.matchAll(/`([\w.-]+\/[\w./-]*)`/g)].map(([, path = ""]) => path);
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((path) => found(path) === undefined)).toEqual([]);
});

it("every file that CONTRIBUTING.md names with a function exports that function", () => {
  const before = [...contributing.matchAll(/`([\w./-]+\.ts)`: `(\w+)`/g)].map(([, path, name]) => [
    path,
    name,
  ]);
  const behind = [...contributing.matchAll(/`(\w+)`\s\(`([\w./-]+\.ts)`\)/g)].map(([, name, path]) => [
    path,
    name,
  ]);
  const named = [...before, ...behind];
  expect(named.length).toBeGreaterThan(20);
  const lost = named.filter(([path = "", name]) => {
    const file = found(path);
    return (
      file === undefined ||
      !new RegExp(`^export (async )?function ${name}\\b`, "m").test(readFileSync(file, "utf8"))
    );
  });
  expect(lost).toEqual([]);
});
