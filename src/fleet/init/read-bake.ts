/** Reads the builds of a bake file with `docker buildx bake --print`, or with a parser of HCL if there is no buildx. */

import { posix } from "node:path";
import { ImgmatchError } from "../../errors.ts";
import { attempt } from "../../io/attempt.ts";
import { findProgram, runProgram } from "../../io/run-program.ts";
import { evaluateBake, type BakeTarget } from "./evaluate-bake.ts";
import type { HclParser } from "./hcl.ts";
import type { Definition, OriginalBuild } from "./original-build.ts";
import type { Environment } from "../../io/world.ts";

interface ReadBakeOptions {
  /** The folder of the file and its contexts. */
  readonly folder: string;
  /** May set variables of the file. */
  readonly env: Environment;
}

const parserPackage = "@cdktn/hcl2json";

/** Throws `ENGINE_FAILED` if buildx refuses the file, and `ENGINE_NOT_FOUND` if there is neither buildx nor the parser. */
export async function readBake(file: string, text: string, options: ReadBakeOptions): Promise<Definition> {
  const wanted = targetNames(text);
  const printed = await printBake(file, wanted, options);
  if (printed !== null) return { builds: Object.entries(printed).flatMap(buildsOf), notes: [] };
  const parser = await loadParser();
  const targets = await evaluateBake(text, { parser, env: options.env });
  return { builds: targets.flatMap(buildsOf), notes: [] };
}

/** The targets of the file, without those that others only inherit. */
function targetNames(text: string): readonly string[] {
  const own = text.replace(/^\s*(#|\/\/).*$/gm, "");
  const listed = (pattern: RegExp) =>
    Array.from(own.matchAll(pattern), ([, list = ""]) => [...list.matchAll(/"([^"]*)"/g)])
      .flat()
      .map(([, name = ""]) => name);
  const inherited = new Set(listed(/"?inherits"?\s*[=:]\s*\[([^\]]*)\]/g));
  const grouped = new Set(listed(/"?targets"?\s*[=:]\s*\[([^\]]*)\]/g));
  const json = attempt(() => JSON.parse(text) as { readonly target?: object }, null);
  const names =
    json === null
      ? Array.from(own.matchAll(/^\s*target\s+"([^"]+)"/gm), ([, name = ""]) => name)
      : Object.keys(json.target ?? {});
  return [...new Set(names)].filter((name) => grouped.has(name) || !inherited.has(name));
}

/** null without buildx. Builds nothing. */
async function printBake(
  file: string,
  names: readonly string[],
  { folder, env }: ReadBakeOptions,
): Promise<Readonly<Record<string, BakeTarget>> | null> {
  const docker = findProgram("docker", env);
  if (docker === null) return null;
  const version = await runProgram(docker, ["buildx", "version"], { env, timeoutMs: 20_000 });
  if (version.status !== 0) return null;
  const args = ["buildx", "bake", "--print", "--file", file, ...names];
  const { status, stdout, stderr } = await runProgram(docker, args, { env, cwd: folder, timeoutMs: 60_000 });
  const found =
    status === 0 ? attempt(() => JSON.parse(stdout) as { readonly target?: unknown }, null) : null;
  if (found === null || typeof found.target !== "object")
    throw new ImgmatchError({
      code: "ENGINE_FAILED",
      message: `docker buildx bake --print: ${stderr.trim().split("\n").at(-1) ?? ""}`,
      fix: "give the variables that it asks for, as docker buildx bake itself needs them",
      at: { file },
    });
  return found.target as Readonly<Record<string, BakeTarget>>;
}

async function loadParser(): Promise<HclParser> {
  try {
    return (await import(parserPackage)) as HclParser;
  } catch (error) {
    throw new ImgmatchError(
      {
        code: "ENGINE_NOT_FOUND",
        message: "docker buildx reads bake files, and it is not installed",
        fix: `install docker's buildx plugin, or a parser of HCL: npm install ${parserPackage}`,
      },
      { cause: error },
    );
  }
}

/** One for each platform. */
function buildsOf([name, target]: readonly [string, BakeTarget]): readonly OriginalBuild[] {
  const { context = ".", dockerfile = "Dockerfile", platforms, args, contexts, left = [] } = target;
  const all = platforms === undefined || platforms.length === 0 ? [null] : platforms;
  const other = [
    ...Object.keys(contexts ?? {}).map((each) => `context ${each}: another target or folder`),
    ...(target["dockerfile-inline"] === undefined ? [] : ["dockerfile-inline: a Dockerfile without a file"]),
  ];
  return all.map((platform) => ({
    name: all.length > 1 ? `${name} ${platform}` : name,
    context: posix.normalize(context),
    dockerfile: posix.join(context, dockerfile),
    target: target.target || null,
    // `local` is bake's word for the builder's own platform.
    platform: platform === "local" ? null : platform,
    args: Object.fromEntries(
      Object.entries(args ?? {}).flatMap(([key, value]) => (value === null ? [] : [[key, value]])),
    ),
    left: [...left, ...other],
  }));
}
