/** Reads the builds of a job's steps: of actions, of composite actions of the repository, of bake files, and of commands. */

import { posix } from "node:path";
import { ImgmatchError } from "../../errors.ts";
import { fieldsOf } from "../../io/json.ts";
import { commandBuilds, type Folder } from "./build-commands.ts";
import { foreignPath } from "./build-settings.ts";
import { asFound, checkOut, downloads, type JobFiles } from "./job-files.ts";
import type { Definition, OriginalBuild } from "./original-build.ts";
import { actionArguments, argumentsIn, buildsOf, type Job, notKnown } from "./workflow-builds.ts";
import { type Contexts, isRuledOut, settled, textWith } from "./workflow-expressions.ts";
import { listOf } from "./workflow-rows.ts";

export type Mapping = Readonly<Record<string, unknown>>;

/** The repository of a workflow. */
export interface Repository {
  /** The data of a YAML file, by its path; null if there is none. */
  readonly readYaml: (path: string) => Promise<unknown>;
  readonly readBake: (request: BakeRequest) => Promise<Definition>;
}

export interface BakeRequest {
  readonly folder: string;
  readonly files: readonly string[];
  readonly targets: readonly string[];
  readonly set: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  /** Names of variables that are set, to values that only a run knows. */
  readonly unknown: readonly string[];
}

/** GitHub calls no deeper. */
export const deepestCall = 10;

export interface StepReading {
  readonly repository: Repository;
  /** Remarks are added here. */
  readonly notes: string[];
  /** Of calls. */
  readonly depth: number;
}

export interface Place {
  readonly contexts: Contexts;
  /** In which commands run. */
  readonly folder: Folder;
  /** The program that reads scripts; empty for the runner's own. */
  readonly shell: string;
  /** Names of the variables that workflow, job and steps set. */
  readonly variables: readonly string[];
  readonly files: JobFiles;
}

export async function stepsBuilds(
  job: Job,
  steps: readonly Mapping[],
  place: Place,
  reading: StepReading,
): Promise<readonly OriginalBuild[]> {
  const builds: OriginalBuild[] = [];
  for (const step of steps) builds.push(...(await stepBuilds(job, step, place, reading)));
  return builds;
}

/** Names of actions that build, and names with such a word of actions that build nothing. */
const buildingActions =
  /\b(build|bake|kaniko|buildah|podman)\b|docker-?build|build-?(push|image)|^devcontainers\/ci$/i;
const otherActions = /setup|login|metadata|description|scan|cache|artifact|cleanup|prune/i;

async function stepBuilds(
  job: Job,
  step: Mapping,
  around: Place,
  reading: StepReading,
): Promise<readonly OriginalBuild[]> {
  const { files } = around;
  const contexts = contextsOf(around.contexts, [step.env]);
  if (isRuledOut(step.if, contexts)) return [];
  const variables = [...around.variables, ...Object.keys(fieldsOf(step.env))];
  const place = { ...around, contexts, variables };
  const uses = String(step.uses ?? "");
  const [action = ""] = uses.split("@");
  const remark = (text: string) => reading.notes.push(`job ${job.name}: ${text}`);
  const found = (builds: readonly OriginalBuild[]) => builds.map((build) => asFound(build, files, remark));
  if (action === "actions/checkout") checkOut(step.with, contexts, files);
  if (action === "actions/download-artifact") downloads(step.with, contexts, files);
  if (/^(docker|depot)\/build-push-action$/.test(action)) return found(actionBuilds(job, step, contexts));
  if (/^(docker|depot)\/bake-action$/.test(action)) return found(await bakeBuilds(job, step, place, reading));
  if (action.startsWith("./")) return await localAction(job, step, place, reading);
  if (buildingActions.test(action) && !otherActions.test(action))
    reading.notes.push(`job ${job.name}: init does not read the action ${uses}`);
  if (typeof step.run !== "string") return [];
  const folder = folderIn(step["working-directory"], contexts) ?? place.folder;
  const script = { text: step.run, folder, shell: String(step.shell ?? place.shell) };
  const { builds, notes } = commandBuilds(job, script, contexts, files);
  reading.notes.push(...notes);
  return builds;
}

/** null if none is named. */
export function folderIn(named: unknown, contexts: Contexts): Folder | null {
  if (named === undefined || named === null || named === "") return null;
  const path = textWith(String(named), contexts);
  if (path === undefined) return { path: ".", why: notKnown("working-directory", String(named)) };
  return { path, why: foreignPath("working-directory", path) };
}

/** Follows a composite action of the same repository. */
async function localAction(
  job: Job,
  step: Mapping,
  place: Place,
  reading: StepReading,
): Promise<readonly OriginalBuild[]> {
  const { contexts } = place;
  const uses = String(step.uses);
  const read = (name: string) => reading.repository.readYaml(posix.join(uses.slice(2), name));
  const data =
    reading.depth > deepestCall ? null : ((await read("action.yml")) ?? (await read("action.yaml")));
  const { runs, inputs: declared } = fieldsOf(data);
  const steps = listOf(fieldsOf(runs).steps).map(fieldsOf);
  if (data === null || steps.length === 0) {
    reading.notes.push(`job ${job.name}: init does not read the action ${uses}`);
    return [];
  }
  const inputs = inputsOf(fieldsOf(declared), settled(step.with, contexts));
  const deeper = { ...reading, depth: reading.depth + 1 };
  return await stepsBuilds(job, steps, { ...place, contexts: { ...contexts, inputs } }, deeper);
}

function actionBuilds(job: Job, step: Mapping, contexts: Contexts): readonly OriginalBuild[] {
  const left: string[] = [];
  const given = fieldsOf(step.with);
  const read = (key: string): string => {
    const text = textWith(String(given[key] ?? ""), contexts);
    if (text === undefined) left.push(notKnown(key, String(given[key])));
    return text?.trim() ?? "";
  };
  const { "build-args": buildArgs, "build-contexts": _, context, file, platforms, target, ...others } = given;
  const own = argumentsIn(actionArguments(String(buildArgs ?? ""), contexts), contexts, left);
  /** A path that says which build it is. */
  const path = (key: string): { readonly text: string; readonly why: string | null } => {
    // The action's own word for the repository, its default.
    const written = String(given[key] ?? "")
      .trim()
      .replace(/^\{\{defaultContext\}\}:?/, "");
    const text = textWith(written, contexts);
    return text === undefined
      ? { text: "", why: notKnown(key, written) }
      : { text, why: foreignPath(key, text) };
  };
  const [folder, dockerfile] = [path("context"), path("file")];
  const settings = Object.entries(others).map(([name, value]) => [name, String(value ?? "")] as const);
  return buildsOf(job, {
    context: posix.normalize(folder.text || "."),
    file: dockerfile.text,
    elsewhere: folder.why ?? dockerfile.why,
    platforms: read("platforms"),
    target: read("target"),
    contexts: read("build-contexts"),
    ...own,
    left,
    settings,
  });
}

/** Settings of targets that make no other image. */
const elsewhere = /\.(tags|labels|annotations|cache-(from|to)|output|attest|pull|no-cache)(=|\+=|\.)/;

/** Asks buildx, once for each row. */
async function bakeBuilds(
  job: Job,
  step: Mapping,
  { contexts, variables }: Place,
  { repository, notes }: StepReading,
): Promise<readonly OriginalBuild[]> {
  const given = fieldsOf(step.with);
  const left: string[] = [];
  const lines = (key: string, isFree = /$^/): readonly string[] =>
    String(given[key] ?? "")
      .split(key === "set" || key === "vars" ? "\n" : /[\n,]/)
      .flatMap((line) => {
        const text = textWith(key === "set" ? withValue(line) : line, contexts)?.trim();
        if (text === undefined && !isFree.test(line)) left.push(notKnown(key, line));
        return text === undefined || text === "" || isFree.test(text) ? [] : [text];
      });
  const env = new Map(Object.entries(contexts.env).map(([name, value]) => [name, String(value)]));
  for (const line of lines("vars")) {
    const [, name, value = ""] = /^(\w+)=(.*)$/s.exec(line) ?? [];
    if (name === undefined) left.push(notKnown("vars", line));
    else env.set(name, value);
  }
  // The action's own word for the repository, its default.
  const [source = "."] = lines("source").map((each) => each.replace(/^\{\{defaultContext\}\}:?/, "") || ".");
  const foreign = foreignPath("source", source);
  if (foreign !== null) {
    notes.push(`job ${job.name}: init does not read ${String(step.uses)}: ${foreign}`);
    return [];
  }
  const request = {
    folder: posix.join(lines("workdir")[0] ?? ".", source),
    // The files of docker/metadata-action have names of images alone.
    files: lines("files", /\.outputs\.bake-file/),
    targets: lines("targets"),
    set: lines("set", elsewhere),
    variables: Object.fromEntries(env),
    unknown: variables.filter((name) => !env.has(name)),
  };
  try {
    const { builds, notes: own } = await repository.readBake(request);
    notes.push(...own);
    return builds.map((build) => ({
      ...build,
      name: `${job.name} ${build.name}`,
      platform: build.platform ?? job.platform,
      runner: job.runner,
      left: [...build.left, ...left],
    }));
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    notes.push(`job ${job.name}: init does not read ${String(step.uses)}: ${error.problems[0]?.message}`);
    return [];
  }
}

/** `*.args.NAME` without a value takes that of the environment. */
function withValue(line: string): string {
  const [, name] = /\.args\.(\w+)\s*$/.exec(line) ?? [];
  return name === undefined ? line : `${line.trim()}=\${{ env.${name} }}`;
}

/** The values that a caller gives, and the defaults of the others (docs.github.com, "Workflow syntax", on.workflow_call.inputs). */
export function inputsOf(declared: Mapping, given: unknown): Mapping {
  const defaults = Object.entries(declared).map(([name, each]) => {
    const { type, default: standard } = fieldsOf(each);
    return [name, standard ?? (type === "boolean" ? false : type === "number" ? 0 : "")];
  });
  return { ...Object.fromEntries(defaults), ...fieldsOf(given) };
}

/** Adds environments: each may use the ones above it. */
export function contextsOf(contexts: Contexts, environments: readonly unknown[]): Contexts {
  let { env } = contexts;
  for (const each of environments) {
    const own = new Map(Object.entries(env));
    for (const [name, value] of Object.entries(fieldsOf(each))) {
      const text = textWith(String(value ?? ""), { ...contexts, env });
      // An unknown value hides a known one above it.
      if (text === undefined) own.delete(name);
      else own.set(name, text);
    }
    env = Object.fromEntries(own);
  }
  return { ...contexts, env };
}
