import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readPages, root } from "./support/markdown.ts";

it.each(readPages())("every test file that $path names is there", ({ text }) => {
  const named = text.match(/\btest\/[\w./-]+\.test\.ts\b/g) ?? [];
  expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});
