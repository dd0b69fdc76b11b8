/** Reads the builds of bake and compose files. */

import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, posix, relative, resolve, sep } from "node:path";
import { parseEnv } from "node:util";
import { ImgmatchError, usageError } from "../../errors.ts";
import { readTextFile } from "../../io/files.ts";
import { inputLimits } from "../../io/limits.ts";
import type { Environment } from "../../io/world.ts";
import {
  type BakeFile,
  dotEnvFile,
  isCompose,
  machineValues,
  questionFile,
  questionTarget,
  type Showing,
  variablesFile,
  withoutMachine,
} from "./bake-values.ts";
import { foreignPath, sortContexts, sortSettings } from "./build-settings.ts";
import type { Definition, OriginalBuild } from "./original-build.ts";
import { type BakeRun, type BakeTarget, type BakeTargets, findBake, type PrintBake } from "./print-bake.ts";
import { refuseOutside } from "./compose-files.ts";
import { leadsOut, repositoryOf } from "./repository.ts";
import type { BakeRequest } from "./workflow-steps.ts";

interface BakeOptions {
  /** Has the files and their contexts. */
  readonly folder: string;
  /** No file outside of it is read. Default: that of the folder. */
  readonly repository?: string;
  /** The user's own. */
  readonly env: Environment;
  readonly signal: AbortSignal | undefined;
}

type BakeInputs = Pick<BakeRequest, "files" | "targets" | "set" | "variables" | "unknown">;

/** Later files override earlier ones. Throws `MATRIX_SYNTAX` if buildx refuses the files, and `ENGINE_NOT_FOUND` without buildx. */
export async function readBake(files: readonly string[], options: BakeOptions): Promise<Definition> {
  return await readInputs({ files, targets: [], set: [], variables: {}, unknown: [] }, options);
}

async function readInputs(inputs: BakeInputs, options: BakeOptions): Promise<Definition> {
  const print = await findBake(options.env, options.folder, options.signal);
  const temporary = await mkdtemp(join(tmpdir(), "imgmatch-bake-"));
  try {
    const { targets, left, notes } = await knownTargets(inputs, options, temporary, print);
    const all = Object.entries(targets);
    const checks = all.filter(([, { call = "build" }]) => call !== "build");
    return {
      builds: all
        .filter((each) => !checks.includes(each))
        .flatMap((each) => buildsOf(each, left.get(each[0]) ?? [])),
      notes: [...notes, ...checks.map(([name, { call }]) => `${name}: call ${call} builds no image`)],
    };
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** The files that bake looks for where none is named (docs.docker.com, "docker buildx bake"). */
export const usualFiles =
  "compose.yaml compose.yml docker-compose.yml docker-compose.yaml docker-bake.json docker-bake.hcl docker-bake.override.json docker-bake.override.hcl".split(
    " ",
  );

/** Reads what a workflow's step has bake build. Its paths are from the folder of the matrix, as those of other builds. */
export async function readBakeOf(request: BakeRequest, options: BakeOptions): Promise<Definition> {
  const { folder, files } = request;
  const own = join(options.folder, folder);
  const read = files.length > 0 ? files : usualFiles.filter((file) => existsSync(join(own, file)));
  // For bake, a URL among the targets is a definition to fetch (docker/buildx, commands/bake.go, bakeArgs).
  const [wrong] = request.targets.filter((name) => !/^\w[\w.*-]*$/.test(name));
  if (wrong !== undefined) throw usageError(`bake's target ${wrong} is no name of a target`, "name targets");
  const { builds, notes } = await readInputs(
    { ...request, files: read },
    { ...options, folder: own, repository: repositoryOf(options.folder) },
  );
  return {
    notes,
    builds: builds.map((build) => ({
      ...build,
      context: posix.join(folder, build.context),
      dockerfile: posix.join(folder, build.dockerfile),
      contexts: Object.fromEntries(
        Object.entries(build.contexts).map(([name, path]) => [name, posix.join(folder, path)]),
      ),
    })),
  };
}

/** Files that compose reads variables from by itself, or that a service has for its containers. */
const isDotEnv = (name: string) => /^\.env$|^\.env\.|\.env$/.test(name);

type OwnRun = Pick<BakeRun, "last" | "targets" | "set">;

/** After this time, no run more is started that is shown values of this machine: what they change is not known then. */
const mostShowingMs = 60_000;

function nullIfRefused(error: unknown): null {
  if (error instanceof ImgmatchError) return null;
  throw error;
}

/** The targets with the definition's values alone, and by their names what is not known of them. */
async function knownTargets(
  { files, targets, set, variables, unknown }: BakeInputs,
  { folder, repository = repositoryOf(folder), env }: BakeOptions,
  temporary: string,
  print: PrintBake,
): Promise<ReturnType<typeof withoutMachine>> {
  const sources = await Promise.all(
    files.map(
      async (name): Promise<BakeFile> => ({
        name,
        text: await readTextFile(join(folder, name), inputLimits.matrix),
      }),
    ),
  );
  const hasCompose = sources.some(isCompose);
  for (const { name } of sources.filter(isCompose)) await refuseOutside(join(folder, name), repository, name);
  const isOwn = (name: string) => isDotEnv(name) && !leadsOut(repository, join(folder, name));
  const own = hasCompose ? (await readdir(folder)).filter(isOwn) : [];
  const dotEnvs = await Promise.all(own.map((name) => readFile(join(folder, name), "utf8").catch(() => "")));
  const names = Object.keys(parseEnv(dotEnvs.join("\n")));
  const given = new Set([...Object.keys(variables), ...unknown]);
  const { hidden, showings } = machineValues(sources, env, names, given);
  const dotEnv = dotEnvFile(variables);
  /** The folder in which bake reads compose files, within another repository: with our `.env`, after the user's own or without it. */
  const folderWith = async (hasDotEnv: boolean): Promise<string> => {
    if (!hasCompose) return folder;
    const within = join(temporary, hasDotEnv ? "shown" : "hidden");
    const parts = relative(repository, resolve(folder)).split(sep).filter(Boolean);
    const at = join(within, ...parts);
    if (existsSync(at)) return at;
    for (const [depth, part] of parts.entries()) {
      const above = parts.slice(0, depth);
      await linkAll(join(repository, ...above), join(within, ...above), (name) => name === part);
    }
    await linkAll(folder, at, (name) => isDotEnv(name) && !(hasDotEnv && name !== ".env"));
    for (const name of own) if (!hasDotEnv) await writeFile(join(at, name), "");
    const before = hasDotEnv && own.includes(".env") ? `${dotEnvs[own.indexOf(".env")]}\n` : "";
    await writeFile(join(at, ".env"), before + dotEnv.text);
    return at;
  };
  const paths = files.map((file) => (posix.normalize(file).startsWith("..") ? resolve(folder, file) : file));
  const run = async ({ env: shown, hasDotEnv }: Omit<Showing, "names">, own: OwnRun) =>
    await print({ files: paths, ...own, cwd: await folderWith(hasDotEnv), env: shown });
  const ofHidden = { env: hidden, hasDotEnv: false };
  const last: string[] = [];
  let unfit: readonly string[] = hasCompose ? dotEnv.unfit : [];
  if (Object.keys(variables).length > 0 && sources.some((source) => !isCompose(source))) {
    const [question, answer] = [join(temporary, "question.hcl"), join(temporary, "variables.hcl")];
    await writeFile(question, questionFile(variables));
    const told = await run(ofHidden, { last: [question], targets: [questionTarget], set: [] });
    const written = variablesFile(variables, told[questionTarget]?.args ?? {});
    unfit = [...unfit, ...written.unfit];
    await writeFile(answer, written.text);
    last.push(answer);
  }
  const printed = await run(ofHidden, { last, targets, set });
  const until = performance.now() + mostShowingMs;
  const shown: { readonly names: readonly string[]; readonly targets: BakeTargets | null }[] = [];
  for (const showing of showings) {
    const isLate = performance.now() > until;
    const targetsOf = isLate ? null : await run(showing, { last, targets, set }).catch(nullIfRefused);
    shown.push({ names: showing.names, targets: targetsOf });
  }
  const known = withoutMachine(printed, shown);
  const words = new Set(sources.flatMap(({ text }) => text.match(/\w+/g) ?? []));
  const isNamed = (name: string) =>
    /^\w+$/.test(name) ? words.has(name) : sources.some(({ text }) => text.includes(name));
  const ofAll = [
    ...unknown.filter(isNamed).map((name) => `variable ${name}: only a run of the workflow knows its value`),
    ...unfit
      .filter(isNamed)
      .map((name) => `variable ${name}: not known: bake takes no such text for its value`),
    // Compose reads the .env beside each file that another includes.
    ...sources.flatMap(({ name, text }) =>
      isCompose({ name, text }) && /(^|[{,])\s*["']?include["']?\s*:|\\[uUx]/m.test(text)
        ? [`include of ${name}: not known: .env of its files`]
        : [],
    ),
  ];
  const left = Object.keys(printed).map(
    (name) => [name, [...(known.left.get(name) ?? []), ...ofAll]] as const,
  );
  return { ...known, left: new Map(left) };
}

/** Makes a folder of links to what another has. */
async function linkAll(folder: string, at: string, isLeftOut: (name: string) => boolean): Promise<void> {
  await mkdir(at);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (isLeftOut(entry.name)) continue;
    const [from, to] = [resolve(folder, entry.name), join(at, entry.name)];
    // Windows lets anybody link folders, and not files.
    await symlink(from, to, entry.isDirectory() ? "junction" : "file").catch(() => copyFile(from, to));
  }
}

/** One for each platform. */
function buildsOf(
  [name, target]: readonly [string, BakeTarget],
  notKnown: readonly string[],
): readonly OriginalBuild[] {
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
    left: [...named.left, ...left, ...notKnown],
    elsewhere: foreignPath("context", context),
  }));
}
