/** Tells bake files, compose files and workflows apart, and reads their builds. */

import { existsSync } from "node:fs";
import { extname, join, posix } from "node:path";
import { z } from "zod";
import { ImgmatchError, type Place, type Problem, throwProblems, usageError } from "../../errors.ts";
import { attempt } from "../../io/attempt.ts";
import { readTextFile } from "../../io/files.ts";
import { fieldsOf } from "../../io/json.ts";
import { inputLimits } from "../../io/limits.ts";
import { findProgram, runProgram } from "../../io/run-program.ts";
import type { Environment } from "../../io/world.ts";
import { parseYamlSource } from "../../io/yaml/yaml-source.ts";
import { textsIn } from "../matrix/unsafe-text.ts";
import { sortContexts, sortSettings } from "./build-settings.ts";
import type { Definition, OriginalBuild } from "./original-build.ts";
import { type RowsOptions, readRows } from "./read-rows.ts";
import { readWorkflow, workflowYaml } from "./read-workflow.ts";
import { brokenExpressions } from "./workflow-expressions.ts";
import type { BakeRequest, Repository } from "./workflow-steps.ts";

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
  throwProblems(
    found.flatMap(({ path, text: own, isKey }) => (isKey ? [] : brokenIn(own, source.placeOf(path), text))),
  );
  return source.data ?? {};
}

/** @param whole the file, in which a block of lines begins at `from` */
function brokenIn(text: string, from: Place, whole: string): readonly Problem[] {
  return brokenExpressions(text).map(({ written, why }): Problem => {
    const lines = whole.split("\n");
    const first = (from.line ?? 1) - 1;
    const [head = ""] = written.split("\n");
    const line = lines.findIndex((each, index) => index >= first && each.includes(head));
    const at =
      line < 0 ? from : { file: from.file, line: line + 1, column: (lines[line] ?? "").indexOf(head) + 1 };
    const message = `${written} is no expression: ${why}`;
    return { code: "MATRIX_SYNTAX", message, fix: "correct the expression: GitHub refuses the workflow", at };
  });
}

/** `folder` has the files and their contexts. `env` may set variables of the files. */
interface ReadBakeOptions extends Omit<ReadOptions, "rows"> {
  /** Default: the group `default`. */
  readonly targets?: readonly string[];
  /** As bake's `--set`. */
  readonly set?: readonly string[];
}

/** The most that buildx may take to read files that anybody may have written: a matrix in them can have any number of rows. */
const most = { timeoutMs: 60_000, maxBytes: 64 * 1024 * 1024, memoryKiB: 4 * 1024 * 1024 };

/** Later files override earlier ones. Throws `ENGINE_FAILED` if buildx refuses the files, and `ENGINE_NOT_FOUND` without buildx. */
async function readBake(files: readonly string[], options: ReadBakeOptions): Promise<Definition> {
  const targets = Object.entries(await printBake(files, options));
  const checks = targets.filter(([, { call = "build" }]) => call !== "build");
  return {
    builds: targets.filter((each) => !checks.includes(each)).flatMap(buildsOf),
    notes: checks.map(([name, { call }]) => `${name}: call ${call} builds no image`),
  };
}

/** The files that bake looks for where none is named (docs.docker.com, "docker buildx bake"). */
const usualFiles =
  "compose.yaml compose.yml docker-compose.yml docker-compose.yaml docker-bake.json docker-bake.hcl docker-bake.override.json docker-bake.override.hcl".split(
    " ",
  );

/** Reads what a workflow's step has bake build. Its paths are from the folder of the matrix, as those of other builds. */
async function readBakeOf(
  { folder, files, targets, set, variables, unknown }: BakeRequest,
  options: ReadBakeOptions,
): Promise<Definition> {
  const own = join(options.folder, folder);
  const read = files.length > 0 ? files : usualFiles.filter((file) => existsSync(join(own, file)));
  const named = await Promise.all(read.map((file) => readTextFile(join(own, file), inputLimits.matrix)));
  const env = { ...options.env, ...variables };
  const { builds, notes } = await readBake(read, { ...options, env, folder: own, targets, set });
  const left = unknown
    .filter((name) => named.some((text) => new RegExp(`\\b${name}\\b`).test(text)))
    .map((name) => `variable ${name}: only a run of the workflow knows its value`);
  return {
    notes,
    builds: builds.map((build) => ({
      ...build,
      context: posix.join(folder, build.context),
      dockerfile: posix.join(folder, build.dockerfile),
      contexts: Object.fromEntries(
        Object.entries(build.contexts).map(([name, path]) => [name, posix.join(folder, path)]),
      ),
      left: [...build.left, ...left],
    })),
  };
}

const texts = z.record(z.string(), z.string().nullable());
const targetSchema = z.looseObject({
  context: z.string().default("."),
  dockerfile: z.string().default("Dockerfile"),
  target: z.string().optional(),
  platforms: z.array(z.string()).default([]),
  args: texts.default({}),
  contexts: texts.default({}),
  call: z.string().optional(),
});
const printedSchema = z.object({ target: z.record(z.string(), targetSchema) });

type BakeTarget = z.infer<typeof targetSchema>;

/** Builds nothing. */
async function printBake(
  files: readonly string[],
  { folder, env, signal, targets = [], set = [] }: ReadBakeOptions,
): Promise<Readonly<Record<string, BakeTarget>>> {
  const docker = findProgram("docker", env);
  const own = { env, cwd: folder, ...(signal && { signal }) };
  const version =
    docker === null ? null : await runProgram(docker, ["buildx", "version"], { ...own, timeoutMs: 20_000 });
  if (version?.timedOut)
    throw new ImgmatchError({
      code: "ENGINE_FAILED",
      message: "docker buildx version gives no answer within 20 s",
      fix: "run it by hand: docker's command or its plugin waits for something",
    });
  if (docker === null || version?.status !== 0)
    throw new ImgmatchError({
      code: "ENGINE_NOT_FOUND",
      message: "docker buildx reads bake and compose files, and it is not installed",
      fix: "install docker's command and its buildx plugin (packages docker-cli or docker-ce-cli, docker-buildx or docker-buildx-plugin)",
    });
  const flags = [...files.flatMap((file) => ["--file", file]), ...set.flatMap((each) => ["--set", each])];
  const command = [docker, "buildx", "bake", "--print", ...flags, "--", ...targets];
  const [program = docker, ...args] = withLittleMemory(command);
  const ended = await runProgram(program, args, { ...own, ...most });
  const printed = attempt(() => printedSchema.parse(JSON.parse(ended.stdout)), null);
  if (ended.status === 0 && printed !== null) return printed.target;
  const limit = limitOf(ended);
  throw new ImgmatchError({
    code: "ENGINE_FAILED",
    message: `docker buildx bake --print: ${limit ?? (ended.stderr.trim().split("\n").at(-1) || "prints no targets")}`,
    fix:
      limit !== null
        ? "name files with fewer targets, or write the matrix by hand"
        : 'give the variables that bake asks for; for targets outside the group default, add --from a second file with group "default" { targets = [ … ] }',
    at: { file: files.join(", ") },
  });
}

/** A shell lowers the limit for the program that takes its place. macOS has no such limit, and Windows no shell. */
function withLittleMemory(command: readonly string[]): readonly string[] {
  if (process.platform === "win32") return command;
  return ["/bin/sh", "-c", `ulimit -v ${most.memoryKiB} 2>/dev/null; exec "$@"`, "sh", ...command];
}

/** The limit that buildx has reached, or null. */
function limitOf({ stdout, stderr, timedOut }: Awaited<ReturnType<typeof runProgram>>): string | null {
  if (timedOut) return `takes more than ${most.timeoutMs / 1000} s`;
  if (Buffer.byteLength(stdout) >= most.maxBytes)
    return `prints more than ${most.maxBytes / 1024 / 1024} MiB`;
  return /out of memory|cannot allocate memory/.test(stderr)
    ? `takes more than ${most.memoryKiB / 1024 / 1024} GiB of memory`
    : null;
}

/** One for each platform. */
function buildsOf([name, target]: readonly [string, BakeTarget]): readonly OriginalBuild[] {
  const { context, dockerfile, target: stage, platforms, args, contexts, call, ...others } = target;
  const all = platforms.length === 0 ? [null] : platforms;
  const named = sortContexts(Object.entries(contexts).map(([key, value]) => [key, value ?? ""]));
  const { ofRun, left } = sortSettings(
    Object.entries(others).map(([key, value]) => [
      key,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  );
  return all.map((platform) => ({
    name: all.length > 1 ? `${name} ${platform}` : name,
    context: posix.normalize(context),
    dockerfile: posix.join(context, dockerfile),
    target: stage || null,
    // `local` is bake's word for the builder's own platform.
    platform: platform === "local" ? null : platform,
    args: Object.fromEntries(
      Object.entries(args).flatMap(([key, value]) => (value === null ? [] : [[key, value]])),
    ),
    ofRun,
    ...{ ofWorkflow: {}, runner: [] },
    contexts: named.contexts,
    left: [...named.left, ...left],
  }));
}
