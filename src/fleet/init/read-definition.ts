/** Tells bake files, compose files and workflows apart, and reads their builds. */

import { existsSync } from "node:fs";
import { extname, join } from "node:path";
import { throwProblems, usageError } from "../../errors.ts";
import { readTextFile } from "../../io/files.ts";
import { fieldsOf } from "../../io/json.ts";
import { inputLimits } from "../../io/limits.ts";
import type { Environment } from "../../io/world.ts";
import { parseYamlSource } from "../../io/yaml/yaml-source.ts";
import type { Definition } from "./original-build.ts";
import { readBake, readBakeOf } from "./read-bake.ts";
import { readWorkflow } from "./read-workflow.ts";
import type { Repository } from "./workflow-steps.ts";

interface ReadOptions {
  readonly folder: string;
  readonly env: Environment;
  readonly signal: AbortSignal | undefined;
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
        "name the file that builds the images, or their Dockerfile",
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

/** GitHub's YAML: 12.80 is a number, and ~ is null. */
const workflowYaml = {
  limit: inputLimits.matrix,
  syntax: "MATRIX_SYNTAX",
  duplicate: "MATRIX_DUPLICATE",
  schema: "core",
} as const;

/** null for a file that only buildx reads. */
async function readYaml(file: string, folder: string): Promise<unknown> {
  const text = await readTextFile(join(folder, file), inputLimits.matrix, { shown: file });
  if (!/\.ya?ml$/i.test(file)) return null;
  const { source, problems } = parseYamlSource(text, file, workflowYaml);
  // A compose file may have merge keys and tags, which a matrix may not have: buildx reads them.
  if (source.data === null && /^services\s*:/m.test(text)) return null;
  if (source.data === null) throwProblems(problems);
  return source.data ?? {};
}
