/** Files that are in a context by chance: tools write them, and no image is made for them. */

import { compareText } from "../../io/collections.ts";
import type { CellContext } from "./cell-context.ts";

/** Folders and files, as `.dockerignore` hides them wherever they are. */
const stray = [
  ..."node_modules .git __pycache__ .venv .cache .pytest_cache .mypy_cache .ruff_cache .tox".split(" "),
  "*.log",
];

/** The lines that would hide what these cells take with all else, sorted; nothing of what an instruction names. */
export function linesToHide(contexts: Iterable<CellContext>): readonly string[] {
  const lines = new Set<string>();
  for (const { entries, inputs } of new Set(contexts)) {
    const named = inputs.taken.flatMap(({ instruction, isAll }) => (isAll ? [] : [instruction]));
    if (inputs.whole === null && !inputs.taken.some(({ isAll }) => isAll)) continue;
    for (const name of stray) {
      const end = name.replace("*", "");
      if (named.some((instruction) => instruction.includes(end))) continue;
      const isStray = (path: string) => (end === name ? path.split("/").includes(name) : path.endsWith(end));
      if (entries.some(({ path, kind }) => kind !== "folder" && isStray(path))) lines.add(`**/${name}`);
    }
  }
  return [...lines].sort(compareText);
}
