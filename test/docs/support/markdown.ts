/** The pages of the documentation and their fenced blocks. */

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");

export interface Page {
  /** Relative to the repository, for example `docs/matrix.md`. */
  readonly path: string;
  readonly text: string;
}

export interface Block {
  readonly language: string;
  readonly text: string;
  /** Of its first line of text, from 1. */
  readonly line: number;
  /** Comments right before it: `<!-- in: vision -->` is `in` → `vision`. */
  readonly notes: ReadonlyMap<string, string>;
}

const fleets = "docs/examples/fleets";

/** Every page that a reader of the repository meets. */
export function readPages(): readonly Page[] {
  const docs = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
  const paths = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "bench/README.md",
    "src/node/sh/README.md",
    ...docs.sort().map((name) => `docs/${name}`),
    ...readdirSync(join(root, fleets)).map((name) => `${fleets}/${name}/README.md`),
  ];
  return paths.map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));
}

export function blocksOf({ text }: Page): readonly Block[] {
  const lines = text.split("\n");
  const blocks: Block[] = [];
  let notes = new Map<string, string>();
  for (let index = 0; index < lines.length; index++) {
    const [, key, value] = /^<!-- ([a-z ]+): (.*) -->$/.exec(lines[index] ?? "") ?? [];
    if (key !== undefined && value !== undefined) {
      notes.set(key, value);
      continue;
    }
    const [, fence, language] = /^(```+)(\w*)$/.exec(lines[index] ?? "") ?? [];
    if (fence !== undefined && language !== undefined) {
      const end = lines.indexOf(fence, index + 1);
      blocks.push({ language, text: lines.slice(index + 1, end).join("\n"), line: index + 2, notes });
      index = end;
    }
    notes = new Map();
  }
  return blocks;
}

/** The text without fenced blocks. */
export function proseOf({ text }: Page): string {
  return text.replace(/^(```+)\w*\n[\s\S]*?^\1$/gm, "");
}
