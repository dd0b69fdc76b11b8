/** Files that are in a context by chance: tools write them, and no image is made for them. */

import { compareText } from "../../io/collections.ts";
import type { CellContext } from "./cell-context.ts";

/** Names of folders, and of files, with what `.dockerignore` says to hide them wherever they are. */
const stray: readonly (readonly [pattern: RegExp, line: string])[] = [
  ...[
    "node_modules",
    ".git",
    "__pycache__",
    ".venv",
    ".cache",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
  ].map((name) => [new RegExp(`(?:^|/)${name.replaceAll(".", "\\.")}(?:/|$)`), `**/${name}`] as const),
  [/\.log$/, "**/*.log"],
];

/** The lines that would hide what these cells take with all else, sorted; nothing of what an instruction names. */
export function linesToHide(contexts: Iterable<CellContext>): readonly string[] {
  const lines = new Set<string>();
  for (const { entries, inputs } of new Set(contexts)) {
    const named = inputs.taken.flatMap(({ instruction, isAll }) => (isAll ? [] : [instruction]));
    if (inputs.whole === null && !inputs.taken.some(({ isAll }) => isAll)) continue;
    for (const [pattern, line] of stray) {
      const name = line.slice(line.lastIndexOf("/") + 1).replace("*", "");
      if (named.some((instruction) => instruction.includes(name))) continue;
      if (entries.some(({ path, kind }) => kind !== "folder" && pattern.test(path))) lines.add(line);
    }
  }
  return [...lines].sort(compareText);
}
