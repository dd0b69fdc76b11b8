/** Asks docker's buildx plugin which builds are in bake and compose files. */

import { z } from "zod";
import { ImgmatchError } from "../../errors.ts";
import { attempt } from "../../io/attempt.ts";
import { findProgram, runProgram } from "../../io/run-program.ts";
import type { Environment } from "../../io/world.ts";

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

export type BakeTarget = z.infer<typeof targetSchema>;
export type BakeTargets = Readonly<Record<string, BakeTarget>>;

/** One run of bake. Nothing of the files may be in `env`. */
export interface BakeRun {
  readonly files: readonly string[];
  /** Files of ours, after the others. */
  readonly last: readonly string[];
  /** Default: the group `default`. */
  readonly targets: readonly string[];
  /** As bake's `--set`. */
  readonly set: readonly string[];
  readonly cwd: string;
  readonly env: Environment;
}

/** Builds nothing. Throws `MATRIX_SYNTAX` if buildx refuses the files, and `ENGINE_FAILED` if it prints no targets. */
export type PrintBake = (run: BakeRun) => Promise<BakeTargets>;

/** The most that buildx may take to read files that anybody may have written: a matrix in them can have any number of rows. */
const most = { timeoutMs: 60_000, maxBytes: 64 * 1024 * 1024, memoryKiB: 4 * 1024 * 1024 };

/** Finds and asks docker in the user's own environment. Throws `ENGINE_NOT_FOUND` without buildx. */
export async function findBake(
  env: Environment,
  cwd: string,
  signal: AbortSignal | undefined,
): Promise<PrintBake> {
  const docker = findProgram("docker", env);
  const own = { ...(signal && { signal }) };
  const version =
    docker === null
      ? null
      : await runProgram(docker, ["buildx", "version"], { ...own, env, cwd, timeoutMs: 20_000 });
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
  return async (run) => {
    const { files, last, targets, set } = run;
    const flags = [
      ...[...files, ...last].flatMap((file) => ["--file", file]),
      ...set.flatMap((each) => ["--set", each]),
    ];
    const command = [docker, "buildx", "bake", "--print", ...flags, "--", ...targets];
    const [program = docker, ...args] = withLittleMemory(command);
    const ended = await runProgram(program, args, { ...own, env: run.env, cwd: run.cwd, ...most });
    const printed = attempt(() => printedSchema.parse(JSON.parse(ended.stdout)), null);
    if (ended.status === 0 && printed !== null) return printed.target;
    const limit = limitOf(ended);
    if (limit === null && ended.status !== null && ended.status !== 0) throw refused(ended.stderr, files);
    throw new ImgmatchError({
      code: "ENGINE_FAILED",
      message: `docker buildx bake --print: ${limit ?? "prints no targets"}`,
      fix:
        limit === null
          ? "run it by hand in this folder"
          : "name files with fewer targets, or write the matrix by hand",
      at: { file: files.join(", ") },
    });
  };
}

/** What buildx says of the files, with its place: `ERROR: docker-bake.hcl:3,5-6: Invalid expression; …`. */
function refused(stderr: string, files: readonly string[]): ImgmatchError {
  const said =
    stderr
      .trim()
      .split("\n")
      .at(-1)
      ?.replace(/^ERROR: /, "") ?? "";
  const place = /^(\S+?):(\d+)(?:,(\d+)(?:-[\d,]+)?)?: (.*)$/s.exec(said);
  const [, file, line, column, message = said] = place ?? [];
  const isOwn = file !== undefined && files.includes(file);
  return new ImgmatchError({
    code: "MATRIX_SYNTAX",
    message: `docker buildx bake --print: ${(isOwn ? message : said) || "refuses the files"}`,
    fix: isOwn
      ? "correct the file"
      : 'correct the file, or add --from a last file of yours: with variable "NAME" { default = "…" } for a value that bake asks for, as init gives bake no variable of this machine; with group "default" { targets = [ … ] } for targets outside the group default',
    at: isOwn
      ? { file, line: Number(line), ...(column !== undefined && { column: Number(column) }) }
      : { file: files.join(", ") },
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
