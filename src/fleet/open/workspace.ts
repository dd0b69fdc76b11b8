/** The matrices of a workspace, in the order in which their fleets are built: each behind those that it is built on. */

import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join, normalize, relative } from "node:path";
import { ImgmatchError, type Place, type Problem, throwProblems, usageError } from "../../errors.ts";
import { inputLimits } from "../../io/limits.ts";
import { readTextFile } from "../../io/files.ts";
import { fieldsOf } from "../../io/json.ts";
import { liesIn } from "../../io/project-folder.ts";
import { parseYamlSource, type YamlSource } from "../../io/yaml/yaml-source.ts";
import type { Located } from "../matrix/matrix.ts";
import { parseMatrix } from "../matrix/parse-matrix.ts";
import { mistake } from "../matrix/matrix-problems.ts";
import { matchesGlob } from "../../io/glob.ts";
import { compareText } from "../../io/collections.ts";

const workspaceFile = "imgmatch.workspace.yaml";

/**
 * Their paths, each once, in the order of the file and below a pattern by name. A matrix is written beside, so no link is followed
 * out of the file's folder. Throws `MATRIX_NOT_FOUND` where a line names none, `MATRIX_SCHEMA`, and `USAGE` for a pattern that names none.
 *
 * @param folders of fleets, `*` standing for any characters; empty for all
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
  return chosen([...new Set(found)], file, folders);
}

/** Paths relative to the file, `*` standing for any characters of a name. Throws `MATRIX_…` with every mistake. */
export function parseWorkspace(text: string, file: string): readonly Located<string>[] {
  const { source, problems } = parseYamlSource(text, file);
  if (source.data === null) throwProblems(problems);
  const { fleets, ...others } = fieldsOf(source.data);
  const unknown = Object.keys(others).map((key) =>
    mistake(`unknown key ${JSON.stringify(key)}`, "the one key here is fleets", source.placeOfKey([key])),
  );
  const list = Array.isArray(fleets) && fleets.length > 0 ? fleets : null;
  const fix = "write fleets: [services/*/matrix.yaml]";
  const missing = list === null ? [mistake("fleets names no matrix", fix, source.placeOf(["fleets"]))] : [];
  const found = (list ?? []).map((path: unknown, index) => pathProblems(path, ["fleets", index], source));
  throwProblems([...problems, ...unknown, ...missing, ...found.flat()]);
  return (list ?? []).map((value: string, index) => ({ value, at: source.placeOf(["fleets", index]) }));
}

/** Lock and Dockerfiles are written beside a matrix: it stays in the workspace's folder. */
function pathProblems(path: unknown, at: readonly (string | number)[], source: YamlSource): Problem[] {
  const place = source.placeOf(at);
  if (typeof path !== "string" || path === "")
    return [mistake("a fleet is the path of its matrix", "write services/api/matrix.yaml", place)];
  const parts = path.split("/");
  if (!path.startsWith("/") && !path.includes("\\") && !parts.includes("..")) return [];
  return [
    mistake(`${path} leads out of the workspace`, "name matrices below the folder of this file", place),
  ];
}

function chosen(all: readonly string[], file: string, folders: readonly string[]): readonly string[] {
  if (folders.length === 0) return all;
  const nameOf = (matrix: string) => relative(dirname(file), dirname(matrix)) || ".";
  const names = all.map(nameOf);
  for (const pattern of folders) {
    if (names.some((name) => matchesGlob(pattern, name))) continue;
    throw usageError(`--fleet ${pattern}: ${file} has no such fleet`, `it has ${names.join(", ")}`);
  }
  return all.filter((matrix) => folders.some((pattern) => matchesGlob(pattern, nameOf(matrix))));
}

/** `./tools//matrix.yaml` means `tools/matrix.yaml`. */
function partsOf(path: string): readonly string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

/** The paths of `folder` that the parts of a pattern name. */
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

/** Else in the order that they have. A matrix with mistakes is ordered by none. Throws `MATRIX_SCHEMA` for fleets that are built on each other. */
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

/** @param line the matrices, each of which builds on the next; the last is one of those before */
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
    // The command says what is wrong with it.
    if (error instanceof ImgmatchError) return [];
    throw error;
  }
}
