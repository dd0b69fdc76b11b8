/** Tells bake files, compose files and workflows apart, and reads their builds. */

import { existsSync } from "node:fs";
import { extname, join } from "node:path";
import { type Place, type Problem, throwProblems, usageError } from "../../errors.ts";
import { readTextFile } from "../../io/files.ts";
import { fieldsOf } from "../../io/json.ts";
import { inputLimits } from "../../io/limits.ts";
import type { Environment } from "../../io/world.ts";
import { parseYamlSource } from "../../io/yaml/yaml-source.ts";
import { textsIn } from "../matrix/unsafe-text.ts";
import type { Definition } from "./original-build.ts";
import { readBake, readBakeOf } from "./read-bake.ts";
import { type RowsOptions, readRows } from "./read-rows.ts";
import { readWorkflow, workflowYaml } from "./read-workflow.ts";
import { brokenExpressions } from "./workflow-expressions.ts";
import type { Repository } from "./workflow-steps.ts";

interface ReadOptions {
  readonly folder: string;
  readonly env: Environment;
  readonly signal: AbortSignal | undefined;
  /** For a file that is a list of builds. */
  readonly rows?: RowsOptions | undefined;
}

/** True if a file is a bake file, a compose file or a workflow, and no Dockerfile. */
export function isDefinition(file: string): boolean {
  return [".hcl", ".json", ".yml", ".yaml"].includes(extname(file).toLowerCase());
}

/**
 * Several bake and compose files are one definition, as for bake itself. Throws `USAGE` for YAML of another kind, `MATRIX_SYNTAX` for broken
 * YAML, and the errors of `readBake`.
 */
export async function readDefinition(files: readonly string[], options: ReadOptions): Promise<Definition> {
  const [first = "", ...others] = files;
  if (options.rows !== undefined) {
    if (others.length > 0) throw usageError("--rows reads one file", "give --from once");
    return await readRows(first, options.folder, options.rows);
  }
  for (const file of files) {
    const data = await readYaml(file, options.folder);
    if (data === null) continue;
    const { jobs, services, target, group } = fieldsOf(data);
    if (jobs !== undefined && files.length > 1)
      throw usageError(
        `${file} is a workflow`,
        "give --from once: only bake and compose files are read together",
      );
    if (jobs !== undefined) return await readWorkflow(data, repositoryOf(options));
    if (services === undefined && target === undefined && group === undefined)
      throw usageError(
        `${file} is neither a bake file nor a compose file nor a workflow: it has neither jobs nor services`,
        "name the file that builds the images, or their Dockerfile; of a file with a list of builds, name the list with --rows",
      );
  }
  return readBake(files, options);
}

/** The files beside a workflow. */
function repositoryOf(options: ReadOptions): Repository {
  const { folder } = options;
  return {
    readYaml: async (path) => (existsSync(join(folder, path)) ? await readYaml(path, folder) : null),
    readBake: async (request) => await readBakeOf(request, options),
  };
}

/** null for a file that only buildx reads. */
async function readYaml(file: string, folder: string): Promise<unknown> {
  const text = await readTextFile(join(folder, file), inputLimits.matrix, { shown: file });
  if (!/\.ya?ml$/i.test(file)) return null;
  const { source, problems } = parseYamlSource(text, file, workflowYaml);
  // A compose file may have merge keys and tags, which a matrix may not have: buildx reads them.
  if (source.data === null && /^services\s*:/m.test(text)) return null;
  if (source.data === null) throwProblems(problems);
  const { jobs, runs } = fieldsOf(source.data);
  const found = [...textsIn(jobs ?? runs, [jobs === undefined ? "runs" : "jobs"])];
  const lines = text.split("\n");
  throwProblems(
    found.flatMap(({ path, text: own, isKey }) => (isKey ? [] : brokenIn(own, source.placeOf(path), lines))),
  );
  return source.data ?? {};
}

/** @param lines of the file, in which a block of lines begins at `from` */
function brokenIn(text: string, from: Place, lines: readonly string[]): readonly Problem[] {
  let line = (from.line ?? 1) - 1;
  return brokenExpressions(text).map(({ written, why }): Problem => {
    const [head = ""] = written.split("\n");
    // The mistakes of a text stand one after another: no line is looked at twice.
    while (line < lines.length && !lines[line]?.includes(head)) line += 1;
    const isFound = line < lines.length;
    const at = isFound
      ? { file: from.file, line: line + 1, column: (lines[line] ?? "").indexOf(head) + 1 }
      : from;
    const message = `${written} is no expression: ${why}`;
    return { code: "MATRIX_SYNTAX", message, fix: "correct the expression: GitHub refuses the workflow", at };
  });
}
