/** Tells bake files, compose files and workflows apart, and reads their builds. */

import { existsSync } from "node:fs";
import { basename, extname, join, posix } from "node:path";
import { parse } from "yaml";
import { type ImgmatchError, type Place, type Problem, throwProblems, usageError } from "../../errors.ts";
import { attempt } from "../../io/attempt.ts";
import { readTextFile } from "../../io/files.ts";
import { fieldsOf } from "../../io/json.ts";
import { inputLimits } from "../../io/limits.ts";
import type { Environment } from "../../io/world.ts";
import { parseYamlSource } from "../../io/yaml/yaml-source.ts";
import { textsIn } from "../matrix/unsafe-text.ts";
import { type ComposeData, withPlatforms } from "./compose-platforms.ts";
import type { Definition } from "./original-build.ts";
import { readBake, readBakeOf } from "./read-bake.ts";
import { type RowsOptions, readRows } from "./read-rows.ts";
import { readWorkflow, workflowYaml } from "./read-workflow.ts";
import { leadsOut } from "./repository.ts";
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
  const composed: ComposeData[] = [];
  for (const file of files) {
    refuseOthers(file);
    const data = await readYaml(file, options.folder);
    if (!/\.(hcl|json)$/i.test(file)) composed.push({ file, data });
    if (data === null) continue;
    if (isGitLab(data)) throw notRead(file, "a pipeline of GitLab");
    const { jobs, services, include, target, group } = fieldsOf(data);
    if (jobs !== undefined && files.length > 1)
      throw usageError(
        `${file} is a workflow`,
        "give --from once: only bake and compose files are read together",
      );
    if (jobs !== undefined) return await readWorkflow(data, filesBeside(options));
    if ([services, target, group].every((each) => each === undefined) && !isInclude(include))
      throw usageError(
        `${file} is neither a bake file nor a compose file nor a workflow: it has neither jobs nor services`,
        "name the file that builds the images, or their Dockerfile; of a file with a list of builds, name the list with --rows",
      );
  }
  if (composed.length < files.length) return readBake(files, options);
  return withPlatforms(await readComposed(files, options), composed);
}

/** For compose, paths and `.env` are from the folder of the first file (Compose specification, "Compose file"). */
async function readComposed(files: readonly string[], options: ReadOptions): Promise<Definition> {
  const folder = posix.dirname(posix.normalize(files[0] ?? ""));
  if (folder === ".") return await readBake(files, options);
  const own = files.map((file) => posix.relative(folder, posix.normalize(file)));
  const request = { folder, files: own, targets: [], set: [], variables: {}, unknown: [] };
  return await readBakeOf(request, options);
}

/** Files of other tools, by their names. */
const others: readonly (readonly [RegExp, string])[] = [
  [/^\.gitlab-ci\.ya?ml$/, "a pipeline of GitLab"],
  [/^\.?devcontainer\.json$/, "the configuration of a dev container"],
  [/^(GNU)?makefile$|\.mk$/i, "a Makefile"],
  [/\.(ba|z|k)?sh$/, "a shell script"],
  [/^Jenkinsfile/, "a pipeline of Jenkins"],
  [/^azure-pipelines.*\.ya?ml$/, "a pipeline of Azure"],
  [/^bitbucket-pipelines\.ya?ml$/, "a pipeline of Bitbucket"],
  [/^cloudbuild.*\.(ya?ml|json)$/, "a build of Google Cloud"],
  [/^\.(travis|drone|cirrus)\.ya?ml$/, "a pipeline of another service"],
  [/^justfile$|^taskfile\.ya?ml$|^Earthfile$/i, "a file of another builder"],
];

/** Throws `USAGE` for a file of a tool that init does not read. */
export function refuseOthers(file: string): void {
  const [, what] = others.find(([names]) => names.test(basename(file))) ?? [];
  if (what !== undefined) throw notRead(file, what);
}

function notRead(file: string, what: string): ImgmatchError {
  return usageError(
    `${file} is ${what}, which init does not read`,
    "name the Dockerfile that it builds, a bake or compose file, or a workflow of GitHub; of a file with a list of builds, name the list with --rows",
  );
}

/** A compose file may have nothing but the files that it includes (Compose specification, "Include"). */
function isInclude(include: unknown): boolean {
  if (!Array.isArray(include)) return false;
  return include.every((each) => typeof each === "string" || fieldsOf(each).path !== undefined);
}

/** Jobs are keys of the file itself there, each with a script (docs.gitlab.com, "CI/CD YAML syntax reference"). */
function isGitLab(data: unknown): boolean {
  const { jobs, services, ...keys } = fieldsOf(data);
  if (jobs !== undefined) return false;
  return Object.values(keys).some((each) => fieldsOf(each).script !== undefined);
}

/** The files beside a workflow, which no path of the workflow leads out of. */
function filesBeside(options: ReadOptions): Repository {
  const { folder } = options;
  return {
    readYaml: async (path) => {
      const file = join(folder, path);
      return existsSync(file) && !leadsOut(folder, file) ? await readYaml(path, folder) : null;
    },
    readBake: async (request) => {
      for (const file of ["", ...request.files]) {
        const path = join(request.folder, file);
        if (leadsOut(folder, join(folder, path)))
          throw usageError(`${path} is outside of this repository`, "name files of the repository");
      }
      return await readBakeOf(request, options);
    },
  };
}

/** null for a file that only buildx reads. */
async function readYaml(file: string, folder: string): Promise<unknown> {
  const text = await readTextFile(join(folder, file), inputLimits.matrix, { shown: file });
  if (!/\.ya?ml$/i.test(file)) return null;
  const { source, problems } = parseYamlSource(text, file, workflowYaml);
  // Unlike a matrix, a compose file may have merge keys, and tags that decide about other files: buildx reads them.
  if (source.data === null && /^services\s*:/m.test(text))
    return /!(reset|override)\b/.test(text)
      ? null
      : attempt(() => parse(text, { merge: true }) as unknown, null);
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
