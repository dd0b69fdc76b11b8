/** The cells that are not built already, as a bake file: what `docker buildx bake` needs to build them without imgmatch. */

import { relative, resolve } from "node:path";
import { type Problem, throwProblems } from "../errors.ts";
import { readRevision } from "../io/git.ts";
import { count, firstOf } from "../io/table.ts";
import { type Environment, inWorld, note, type Watching, type World } from "../io/world.ts";
import { type EngineChoice, requireNetwork } from "./engines/engine-choice.ts";
import { checkSsh, parseSecrets } from "./engines/step-options.ts";
import { contextTime } from "./engines/source-date-epoch.ts";
import { keepContext } from "./engines/staged-context.ts";
import { type ContextFolder, copyingAnew, jobOf, requireReady } from "./engines/jobs.ts";
import type { CellContext } from "./context/cell-context.ts";
import { memoizeBy } from "./cells/memoize-by.ts";
import { groupBy, remember } from "../io/collections.ts";
import { listContext } from "./context/context.ts";
import { takenFiles } from "./context/context-inputs.ts";
import type { ContextUse } from "./context/context-use.ts";
import type { HostServices } from "./host-services.ts";
import { fleetAt, type FleetChoice } from "./open/fleet-choice.ts";
import type { Fleet } from "./open/open-fleet.ts";
import type { Plan, PlannedCell } from "./plan/planned-cell.ts";
import { prepareBuild } from "./open/prepare-build.ts";
import type { BuildRequest } from "./engines/engine.ts";
import { argsWithExtra, attestValues } from "./engines/docker-build.ts";

/** `secret` and `ssh` are of the machine where bake runs: they need not be here. */
export interface ExportBakeOptions
  extends FleetChoice,
    Pick<EngineChoice, "secret" | "ssh" | "network">,
    Watching {
  /** A folder to write the build contexts to, as `build` sends them. Default: bake sends the fleet's own folders. */
  readonly contexts?: string;
}

/**
 * Writes a bake file of the builds of `build --push`, with the secrets that their steps mount. With `contexts` bake sends the files that
 * `build` sends, with their modes and times. Without, problems name the files that only bake would send, or leave out, and a note says whose
 * times and modes differ. Throws `USAGE`, `BASE_UNRESOLVED` for all cells with an unknown base, and as `plan`.
 *
 * @example
 * const { target } = await exportBake({ only: ["cuda=12.8.1"] });
 */
export type ExportBakeFunction = (asked?: ExportBakeOptions, given?: Partial<World>) => Promise<BakeFile>;

export function exportBakeWith(ports: HostServices): ExportBakeFunction {
  return (asked = {}, given) => inWorld(asked, given, (world) => exportBakeIn(asked, world), ports);
}

async function exportBakeIn(asked: ExportBakeOptions, world: World & HostServices): Promise<BakeFile> {
  const { fleet, lockFile, only } = await fleetAt(asked, world);
  const { plan } = await prepareBuild(fleet, { only, lockFile, bases: asked, push: true }, world);
  const { secret = [], ssh = [], network = "default" } = asked;
  // The variables are those of the machine where bake runs: here they need not be set.
  const names = secret.flatMap((text) => /,env=(.+)$/.exec(text)?.[1] ?? []);
  parseSecrets(secret, Object.fromEntries(names.map((name) => [name, ""])));
  checkSsh(ssh);
  requireNetwork(network, "buildx");
  const contextAt = (dir: string) => {
    const folder = relative(world.cwd, resolve(world.cwd, dir)).replaceAll("\\", "/");
    return folder === "" ? "." : folder;
  };
  const written = asked.contexts === undefined ? null : resolve(world.cwd, asked.contexts);
  const revision = await readRevision(fleet.root, world.env);
  const jobs = bakeJobs(plan, fleet, revision);
  const requests = written === null ? jobs : await inFolder(jobs, written, world.env);
  const file = bakeFile(requests, contextAt, { secret, ssh, network });
  const problems = await contextProblems(fleet, plan, written !== null);
  if (written === null) note(world, differences(jobs));
  for (const problem of problems) world.onEvent({ type: "problem", problem });
  return file;
}

/** What else is another in bake's image: `docker buildx` sends modes and times as they are on the disk. */
function differences(requests: readonly BuildRequest[]): readonly string[] {
  const files = requests.flatMap(({ contextFiles, contexts = [] }) => [
    ...contextFiles,
    ...contexts.flatMap((named) => named.contextFiles),
  ]);
  if (files.length === 0) return [];
  const others = new Set(files.flatMap(({ path, mode, bits = mode }) => (bits === mode ? [] : [path])));
  const modes = `, and ${count(others.size, "file")} with another mode: ${firstOf([...others].sort(), 8)}`;
  return [
    `bake sends the files of the context with their own times${others.size > 0 ? modes : ""}; with --contexts FOLDER it sends what imgmatch build sends`,
  ];
}

/** Writes each context once, into a folder that is named by the context's digest. Answers the requests with these contexts. */
async function inFolder(
  requests: readonly BuildRequest[],
  folder: string,
  env: Environment,
): Promise<readonly BuildRequest[]> {
  const kept = new Map<string, Promise<string>>();
  const place = async <C extends Pick<BuildRequest, "contextDir" | "contextFiles" | "contextDigest">>(
    context: C,
  ) => {
    const keep = () => keepContext(context, folder, contextTime(env));
    return { ...context, contextDir: await remember(kept, context.contextDigest ?? "", keep) };
  };
  return Promise.all(
    requests.map(async (request) => {
      const { contexts = [], ...placed } = await place(request);
      return { ...placed, ...(contexts.length > 0 && { contexts: await Promise.all(contexts.map(place)) }) };
    }),
  );
}

export function bakeJobs({ matrix, cells }: Plan, fleet: Fleet, revision: string): readonly BuildRequest[] {
  const built = cells.filter(({ inputs, action }) => inputs !== null && action !== "keep");
  const ready = requireReady(built);
  throwProblems(built.flatMap(heldBases));
  return ready.map((planned) => jobOf(planned, { ...fleet, matrix, revision, push: false }).request);
}

/** A bake file is for every machine, and what one engine alone has is not. */
function heldBases({ cell, bases }: PlannedCell): readonly Problem[] {
  return bases
    .filter(({ local }) => local !== undefined)
    .map(({ used, local }) => ({
      code: "BASE_UNRESOLVED",
      message: `${cell.id}: its base ${used} is in no registry, and ${local} has it on one machine alone`,
      fix: "push the base, and add --replace-base OLD=NEW",
    }));
}

/**
 * Problems of instructions that take more of bake's folder than of imgmatch's context: imgmatch keeps its own files out of images; bake
 * sends everything that the context's `.dockerignore` does not hide, and asks no other file, as the Dockerfiles stand in the bake file.
 */
async function contextProblems(
  { folderOf, dockerfileOf }: Fleet,
  { cells }: Plan,
  isWritten: boolean,
): Promise<readonly Problem[]> {
  const built = cells.filter(({ context }) => context !== null);
  const problems: Problem[] = [];
  for (const [folder, own] of groupBy(built, ({ cell }) => folderOf(cell)))
    problems.push(...(await folderProblems(folder, own, dockerfileOf, isWritten)));
  return problems;
}

async function folderProblems(
  { dir }: ContextFolder,
  cells: readonly PlannedCell[],
  dockerfileOf: Fleet["dockerfileOf"],
  isWritten: boolean,
): Promise<readonly Problem[]> {
  const { entries } = await listContext(dir, { file: dir });
  const takenOf = memoizeBy((use: ContextUse) => takenFiles(use, entries));
  const [sent, known] = [new Set<string>(), new Set<string>()];
  const seen = new Set<CellContext>();
  for (const { cell, context } of cells) {
    if (context === null || seen.has(context)) continue;
    seen.add(context);
    for (const { path, kind } of context.entries) if (kind !== "folder") sent.add(path);
    const { taken } =
      context.inputs.whole === null
        ? takenOf(dockerfileOf(cell).use)
        : { taken: [{ paths: entries.map(({ path }) => path) }] };
    for (const { paths } of taken) for (const path of paths) known.add(path);
  }
  const files = entries.filter(({ kind }) => kind !== "folder").map(({ path }) => path);
  const hidden = [...sent].filter((path) => !known.has(path)).sort();
  const more = files.filter((path) => known.has(path) && !sent.has(path));
  const ignoreFile = `${dir}/.dockerignore`;
  const problems: Problem[] = [];
  if (hidden.length > 0)
    problems.push({
      code: "CONTEXT_NOT_FOUND",
      message: `bake would leave out ${count(hidden.length, "file")} that the Dockerfile's own ignore file shows: ${firstOf(hidden, 8)}`,
      fix: `show them in ${ignoreFile}`,
    });
  if (isWritten) return problems;
  if (more.length > 0)
    problems.push({
      code: "CONTEXT_NOT_FOUND",
      message: `bake would send ${count(more.length, "file")} more than imgmatch: ${firstOf(pathsToHide(more, sent), 8)}`,
      fix: `if the Dockerfile copies whole folders, hide them in ${ignoreFile}`,
    });
  return problems;
}

/** A target of the bake file reference (docker/buildx, docs/bake-reference.md). */
export interface BakeTarget {
  readonly context: string;
  readonly contexts?: Readonly<Record<string, string>>;
  readonly "dockerfile-inline": string;
  readonly args: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly tags: readonly string[];
  readonly platforms: readonly [string];
  readonly target?: string;
  readonly attest: readonly string[];
  /** In the form of `--secret` of `docker buildx build`. */
  readonly secret?: readonly string[];
  /** In the form of its `--ssh`. */
  readonly ssh?: readonly string[];
  readonly network?: string;
}

/** The places of secrets and agents, never their values. */
type BakeSteps = Pick<EngineChoice, "secret" | "ssh" | "network">;

export interface BakeFile {
  readonly group: { readonly default: { readonly targets: readonly string[] } };
  readonly target: Readonly<Record<string, BakeTarget>>;
}

/** @param contextAt the path of a build context from the folder in which bake runs */
export function bakeFile(
  requests: readonly BuildRequest[],
  contextAt: (dir: string) => string,
  steps: BakeSteps = {},
): BakeFile {
  const names = targetNames(requests.map(({ cell }) => cell));
  const entries = requests.map((request, index): [string, BakeTarget] => [
    names[index] ?? "",
    bakeTarget(request, contextAt, steps),
  ]);
  return { group: { default: { targets: names } }, target: Object.fromEntries(entries) };
}

function bakeTarget(
  request: BuildRequest,
  contextAt: (dir: string) => string,
  { secret = [], ssh = [], network = "default" }: BakeSteps,
): BakeTarget {
  const { labels, tags, platform, target } = request;
  const named = (request.contexts ?? []).map(({ name, contextDir }) => [name, contextAt(contextDir)]);
  return {
    context: literal(contextAt(request.contextDir)),
    ...(named.length > 0 && { contexts: literals(Object.fromEntries(named)) }),
    "dockerfile-inline": literal(copyingAnew(request)),
    args: literals(argsWithExtra(request)),
    labels: literals(labels),
    tags: tags.map(literal),
    platforms: [platform],
    ...(target === null ? {} : { target: literal(target) }),
    // Bake's default provenance would make an index of every image.
    attest: [
      ...(request.attest?.provenance ? [] : ["type=provenance,disabled=true"]),
      ...attestValues(request).map(literal),
    ],
    ...(secret.length === 0 ? {} : { secret: secret.map(literal) }),
    ...(ssh.length === 0 ? {} : { ssh: ssh.map(literal) }),
    ...(network === "default" ? {} : { network }),
  };
}

/** Escapes `${` and `%{`: bake takes every text for an HCL template (hashicorp/hcl, "Quoted Literals"). */
function literal(text: string): string {
  return text.replace(/[$%](?=\{)/g, "$&$&");
}

function literals(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, literal(text)]));
}

/** Bake allows only `[a-zA-Z0-9_-]`. Cells with equal names get a number. */
function targetNames(cells: readonly string[]): string[] {
  const seen = new Map<string, number>();
  return cells.map((cell) => {
    const safeName = cell.replace(/[^A-Za-z0-9_-]/g, "-");
    const count = (seen.get(safeName) ?? 0) + 1;
    seen.set(safeName, count);
    return count === 1 ? safeName : `${safeName}--${count}`;
  });
}

/** Paths for `.dockerignore` that hide the files that are not sent. A folder of which nothing is sent is one path. */
export function pathsToHide(files: readonly string[], sent: Iterable<string>): string[] {
  const kept = new Set([...sent].flatMap(withParents));
  return [...new Set(files.map((path) => withParents(path).find((above) => !kept.has(above)) ?? path))];
}

/** `a/b/c` → `a`, `a/b`, `a/b/c`. */
function withParents(path: string): string[] {
  const parts = path.split("/");
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}
