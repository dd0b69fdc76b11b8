/** Reads the builds of bake and compose files with `docker buildx bake --print`: of the group `default`, as bake itself builds. */

import { posix } from "node:path";
import { z } from "zod";
import { ImgmatchError } from "../../errors.ts";
import { attempt } from "../../io/attempt.ts";
import { findProgram, runProgram } from "../../io/run-program.ts";
import type { Environment } from "../../io/world.ts";
import { sortSettings } from "./build-settings.ts";
import type { Definition, OriginalBuild } from "./original-build.ts";

interface ReadBakeOptions {
  /** The folder of the files and their contexts. */
  readonly folder: string;
  /** May set variables of the files. */
  readonly env: Environment;
  readonly signal: AbortSignal | undefined;
}

/** The most that buildx may take to read files that anybody may have written: a matrix in them can have any number of rows. */
const most = { timeoutMs: 60_000, maxBytes: 64 * 1024 * 1024, memoryKiB: 4 * 1024 * 1024 };

/** Later files override earlier ones. Throws `ENGINE_FAILED` if buildx refuses the files, and `ENGINE_NOT_FOUND` without buildx. */
export async function readBake(files: readonly string[], options: ReadBakeOptions): Promise<Definition> {
  const targets = Object.entries(await printBake(files, options));
  const checks = targets.filter(([, { call = "build" }]) => call !== "build");
  return {
    builds: targets.filter((each) => !checks.includes(each)).flatMap(buildsOf),
    notes: checks.map(([name, { call }]) => `${name}: call ${call} builds no image`),
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
  { folder, env, signal }: ReadBakeOptions,
): Promise<Readonly<Record<string, BakeTarget>>> {
  const docker = findProgram("docker", env);
  const own = { env, cwd: folder, ...(signal && { signal }) };
  const version =
    docker === null ? null : await runProgram(docker, ["buildx", "version"], { ...own, timeoutMs: 20_000 });
  if (docker === null || version?.status !== 0)
    throw new ImgmatchError({
      code: "ENGINE_NOT_FOUND",
      message: "docker buildx reads bake and compose files, and it is not installed",
      fix: "install docker's command and its buildx plugin (packages docker-cli or docker-ce-cli, docker-buildx or docker-buildx-plugin)",
    });
  const command = [docker, "buildx", "bake", "--print", ...files.flatMap((file) => ["--file", file])];
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
  const { ofRun, left } = sortSettings([
    ...Object.entries(contexts).map(([key, value]) => [`context ${key}`, value ?? ""] as const),
    ...Object.entries(others).map(
      ([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)] as const,
    ),
  ]);
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
    left,
  }));
}
