/** `imgmatch.workspace.yaml`: the fleets of one repository, each by the path of its matrix. */

import { type Problem, throwProblems } from "../../errors.ts";
import { fieldsOf } from "../../io/json.ts";
import type { Located } from "./matrix.ts";
import { mistake } from "./unsafe-text.ts";
import { parseYamlSource, type YamlSource } from "../../io/yaml/yaml-source.ts";

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
