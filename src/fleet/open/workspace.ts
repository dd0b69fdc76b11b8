/** Finds the matrices of a workspace (`imgmatch.workspace.yaml`), and puts a fleet behind the fleets it is built on. */

import { readdir } from "node:fs/promises";
import { dirname, join, normalize, relative } from "node:path";
import { ImgmatchError, type Place, type Problem, throwProblems, usageError } from "../../errors.ts";
import { inputLimits } from "../../io/limits.ts";
import { isErrno, readTextFile, unreadable } from "../../io/files.ts";
import { fieldsOf } from "../../io/json.ts";
import { liesIn } from "../../io/project-folder.ts";
import { parseYamlSource } from "../../io/yaml/yaml-source.ts";
import type { Located } from "../matrix/matrix.ts";
import { parseMatrix } from "../matrix/parse-matrix.ts";
import { mistake } from "../matrix/matrix-problems.ts";
import { matchesGlob } from "../../io/glob.ts";
import { compareText } from "../../io/collections.ts";

const workspaceFile = "imgmatch.workspace.yaml";

/**
 * The paths of the matrices, each once, in the order of the file; the matches of a pattern by name. Files are written beside a matrix, so no
 * link may lead out of the workspace. Throws `MATRIX_NOT_FOUND` for a line that names no file, `MATRIX_SCHEMA`, and `USAGE` for a folder that
 * matches no fleet.
 *
 * @param folders patterns for the folders of fleets, with `*` for any characters; empty for all
 */
export async function findMatrices(
  file: string = workspaceFile,
  folders: readonly string[] = [],
): Promise<readonly string[]> {
  const text = await readTextFile(file, inputLimits.matrix, {
    missingCode: "MATRIX_NOT_FOUND",
    fix: "write one: fleets: [services/*/matrix.yaml]",
  });
  const root = dirname(file);
  const problems: Problem[] = [];
  const found: string[] = [];
  for (const { value, at } of parseWorkspace(text, file)) {
    // `./tools//matrix.yaml` means `tools/matrix.yaml`.
    const parts = value.split("/").filter((part) => part !== "" && part !== ".");
    const paths = await matchingPaths(root, parts);
    if (paths.length === 0) {
      const fix = "correct it, or run imgmatch init where it is to be";
      problems.push({ code: "MATRIX_NOT_FOUND", message: `${value} names no file`, fix, at });
    }
    for (const path of paths.filter((each) => leadsOut(root, each))) {
      const message = `a symbolic link leads out of the workspace: ${path}`;
      problems.push(mistake(message, "name matrices below the folder of this file", at));
    }
    found.push(...paths);
  }
  throwProblems(problems);
  return inFolders(folders, [...new Set(found)], file);
}

/** A path to nothing leads nowhere: later no matrix is found there. */
function leadsOut(root: string, path: string): boolean {
  try {
    return !liesIn(root, path);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return false;
    throw unreadable(path, error);
  }
}

/** Paths from the file, with `*` for any characters of a name. Throws `MATRIX_…` with every mistake. */
export function parseWorkspace(text: string, file: string): readonly Located<string>[] {
  const { source, problems } = parseYamlSource(text, file);
  if (source.data === null) throwProblems(problems);
  const { fleets, ...others } = fieldsOf(source.data);
  const unknown = Object.keys(others).map((key) =>
    mistake(`unknown key ${JSON.stringify(key)}`, "the one key here is fleets", source.placeOfKey([key])),
  );
  const paths: readonly unknown[] = Array.isArray(fleets) ? fleets : [];
  const placeOf = (index: number) => source.placeOf(["fleets", index]);
  const fix = "write fleets: [services/*/matrix.yaml]";
  const missing =
    paths.length === 0 ? [mistake("fleets names no matrix", fix, source.placeOf(["fleets"]))] : [];
  const wrong = paths.flatMap((path, index) => pathProblems(path, placeOf(index)));
  throwProblems([...problems, ...unknown, ...missing, ...wrong]);
  return paths.map((path, index) => ({ value: String(path), at: placeOf(index) }));
}

/** Lock and Dockerfiles are written beside a matrix, so it has to be in the workspace's folder. */
function pathProblems(path: unknown, at: Place): Problem[] {
  if (typeof path !== "string" || path === "")
    return [mistake("a fleet is the path of its matrix", "write services/api/matrix.yaml", at)];
  const parts = path.split("/");
  if (!path.startsWith("/") && !path.includes("\\") && !parts.includes("..")) return [];
  return [mistake(`${path} leads out of the workspace`, "name matrices below the folder of this file", at)];
}

function inFolders(folders: readonly string[], all: readonly string[], file: string): readonly string[] {
  if (folders.length === 0) return all;
  const nameOf = (matrix: string) => relative(dirname(file), dirname(matrix)) || ".";
  const names = all.map(nameOf);
  for (const pattern of folders) {
    if (names.some((name) => matchesGlob(pattern, name))) continue;
    throw usageError(`--fleet ${pattern}: ${file} has no such fleet`, `it has ${names.join(", ")}`);
  }
  return all.filter((matrix) => folders.some((pattern) => matchesGlob(pattern, nameOf(matrix))));
}

/** The paths in `folder` that match the parts of a pattern. */
async function matchingPaths(
  folder: string,
  [part = "", ...rest]: readonly string[],
): Promise<readonly string[]> {
  const items = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (isErrno(error, "ENOENT", "ENOTDIR", "ELOOP")) return [];
    throw unreadable(folder, error);
  });
  const names = items
    .filter((item) => (rest.length === 0 ? !item.isDirectory() : !item.isFile()))
    .map(({ name }) => name)
    .filter((name) => (part.includes("*") ? !name.startsWith(".") : true) && matchesGlob(part, name))
    .sort(compareText);
  if (rest.length === 0) return names.map((name) => join(folder, name));
  const below = await Promise.all(names.map((name) => matchingPaths(join(folder, name), rest)));
  return below.flat();
}

/** Keeps the order where it can. A matrix with mistakes counts as built on no fleet. Throws `MATRIX_SCHEMA` for fleets built on each other. */
export async function orderFleets(matrices: readonly string[]): Promise<readonly string[]> {
  const parents = new Map(
    await Promise.all(matrices.map(async (file) => [file, await parentsOf(file)] as const)),
  );
  const ordered = new Set<string>();
  const visit = (file: string, above: readonly string[]): void => {
    const line = [...above, file];
    for (const { value, at } of parents.get(file) ?? []) {
      if (line.includes(value)) throwProblems([fleetCircle([...line, value], at)]);
      if (!ordered.has(value) && parents.has(value)) visit(value, line);
    }
    ordered.add(file);
  };
  for (const file of matrices) visit(file, []);
  return [...ordered];
}

/** @param line matrices, each built on the next; the last one stands in it before */
export function fleetCircle(line: readonly string[], at: Place): Problem {
  return mistake(
    `fleets are built on each other: ${line.join(" → ")}`,
    "take one fleet: out of this circle",
    at,
  );
}

async function parentsOf(file: string): Promise<readonly Located<string>[]> {
  try {
    const { parents } = parseMatrix(await readTextFile(file, inputLimits.matrix), file);
    return Object.values(parents).map(({ file: { value, at } }) => ({
      value: normalize(join(dirname(file), value)),
      at,
    }));
  } catch (error) {
    // The command reports it.
    if (error instanceof ImgmatchError) return [];
    throw error;
  }
}
