/** The matrices of a workspace. */

import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Problem, throwProblems } from "../errors.ts";
import { inputLimits } from "../io/limits.ts";
import { readTextFile } from "../io/files.ts";
import { liesIn } from "../io/project-folder.ts";
import { mistake } from "./matrix/unsafe-text.ts";
import { parseWorkspace } from "./matrix/parse-workspace.ts";
import { matchesGlob } from "../io/glob.ts";
import { compareText } from "../io/collections.ts";

export const workspaceFile = "imgmatch.workspace.yaml";

/**
 * Their paths, each once, in the order of the file and below a pattern by name. A matrix is written beside, so no link is followed
 * out of the file's folder. Throws `MATRIX_NOT_FOUND` where a line names none, and `MATRIX_SCHEMA`.
 */
export async function findMatrices(file: string): Promise<readonly string[]> {
  const text = await readTextFile(file, inputLimits.matrix, {
    missingCode: "MATRIX_NOT_FOUND",
    fix: "write one: fleets: [services/*/matrix.yaml]",
  });
  const root = dirname(file);
  const problems: Problem[] = [];
  const found: string[] = [];
  for (const { value, at } of parseWorkspace(text, file)) {
    const paths = await expand(root, partsOf(value));
    if (paths.length === 0) {
      const fix = "correct it, or run imgmatch init where it is to be";
      problems.push({ code: "MATRIX_NOT_FOUND", message: `${value} names no file`, fix, at });
    }
    for (const path of paths.filter((each) => existsSync(each) && !liesIn(root, each))) {
      const message = `a symbolic link leads out of the workspace: ${path}`;
      problems.push(mistake(message, "name matrices below the folder of this file", at));
    }
    found.push(...paths);
  }
  throwProblems(problems);
  return [...new Set(found)];
}

/** `./tools//matrix.yaml` means `tools/matrix.yaml`. */
function partsOf(path: string): readonly string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

/** What of `folder` the parts of a pattern name. */
async function expand(folder: string, [part = "", ...rest]: readonly string[]): Promise<readonly string[]> {
  // Of a folder that is not there, or not to be read, nothing is named.
  const items = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const names = items
    .filter((item) => (rest.length === 0 ? !item.isDirectory() : !item.isFile()))
    .map(({ name }) => name)
    .filter((name) => (part.includes("*") ? !name.startsWith(".") : true) && matchesGlob(part, name))
    .sort(compareText);
  if (rest.length === 0) return names.map((name) => join(folder, name));
  const below = await Promise.all(names.map((name) => expand(join(folder, name), rest)));
  return below.flat();
}
