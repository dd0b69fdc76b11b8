/** Reads the builds of a GitHub workflow, of the workflows and actions of the repository that it calls, and of the bake files that it names. */

import { posix } from "node:path";
import { ImgmatchError, usageError } from "../../errors.ts";
import { fieldsOf } from "../../io/json.ts";
import { commandBuilds, withoutAssigned } from "./build-commands.ts";
import type { Definition, OriginalBuild } from "./original-build.ts";
import { runnerPlatform } from "./runner-platform.ts";
import { argumentsIn, buildsOf, type Job, notKnown } from "./workflow-builds.ts";
import { type Contexts, isRuledOut, settled, textWith } from "./workflow-expressions.ts";
import { labelsOf, listOf, rowsOf } from "./workflow-rows.ts";

type Mapping = Readonly<Record<string, unknown>>;

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
const deepestCall = 10;

/** A matrix of calls in a called workflow makes ever more jobs. */
const mostJobs = 5_000;

/** @param data of the YAML, with numbers, booleans and null as GitHub reads them */
export async function readWorkflow(data: unknown, repository: Repository): Promise<Definition> {
  const notes: string[] = [];
  const builds = await workflowBuilds(data, {
    repository,
    notes,
    inputs: null,
    caller: "",
    depth: 0,
    jobs: new Set(),
  });
  return { builds: withOwnNames(builds), notes: [...new Set(notes)] };
}

interface Reading extends Pick<Contexts, "inputs"> {
  readonly repository: Repository;
  /** Remarks are added here. */
  readonly notes: string[];
  /** The name of the calling job, with a blank; empty for the workflow itself. */
  readonly caller: string;
  readonly depth: number;
  /** The rows of all jobs so far. */
  readonly jobs: Set<JobRow>;
}

async function workflowBuilds(data: unknown, reading: Reading): Promise<readonly OriginalBuild[]> {
  const workflow = fieldsOf(data);
  const builds: OriginalBuild[] = [];
  for (const [id, each] of Object.entries(fieldsOf(workflow.jobs))) {
    const job = fieldsOf(each);
    const { matrix } = fieldsOf(job.strategy);
    const rows = rowsOf(settled(matrix, { matrix: {}, env: {}, inputs: reading.inputs }));
    if (rows === null) {
      reading.notes.push(
        `job ${id}: its matrix is made when it runs, or has more rows than GitHub takes, so nobody knows its rows: ${JSON.stringify(matrix).slice(0, 200)}`,
      );
      continue;
    }
    for (const row of rows) {
      const each = { id, job, row, workflow };
      if (reading.jobs.add(each).size > mostJobs)
        throw usageError(
          `the workflow has more than ${mostJobs} jobs, those of called workflows among them`,
          "name a workflow that it calls",
        );
      builds.push(...(await jobBuilds(each, reading)));
    }
  }
  return builds;
}

interface JobRow {
  readonly id: string;
  readonly job: Mapping;
  readonly row: Mapping;
  readonly workflow: Mapping;
}

async function jobBuilds(
  { id, job, row, workflow }: JobRow,
  reading: Reading,
): Promise<readonly OriginalBuild[]> {
  const contexts = contextsOf({ matrix: row, env: {}, inputs: reading.inputs }, [workflow.env, job.env]);
  if (isRuledOut(job.if, contexts)) return [];
  const name = `${reading.caller}${[id, ...labelsOf(row)].join(" ")}`;
  if (typeof job.uses === "string")
    return await calledBuilds(job.uses, name, settled(job.with, contexts), reading);
  const steps = listOf(job.steps).map(fieldsOf);
  const folders = [job.defaults, workflow.defaults].map((each) => fieldsOf(fieldsOf(each).run));
  const folder = String(folders.map((each) => each["working-directory"]).find(Boolean) ?? ".");
  const own = { name, ...runnerOf(job["runs-on"], contexts) };
  const variables = [workflow.env, job.env].flatMap((env) => Object.keys(fieldsOf(env)));
  const place = { contexts: withoutWritten(contexts, steps), folder, variables };
  return await stepsBuilds(own, steps, place, reading);
}

/** Variables that a step writes for later steps: a job's own value may not be theirs. */
function withoutWritten(contexts: Contexts, steps: readonly Mapping[]): Contexts {
  const lines = steps.flatMap(({ run }) => String(run ?? "").split("\n"));
  const written = lines.filter((line) => /GITHUB_ENV/.test(line)).join("\n");
  return { ...contexts, env: withoutAssigned(contexts.env, written, /(\w+)(?==)/g) };
}

/** Follows a workflow of the same repository. */
async function calledBuilds(
  uses: string,
  caller: string,
  given: unknown,
  reading: Reading,
): Promise<readonly OriginalBuild[]> {
  const path = uses.startsWith("./") ? uses.slice(2) : null;
  const data = path === null || reading.depth > deepestCall ? null : await reading.repository.readYaml(path);
  if (data === null) {
    reading.notes.push(`job ${caller}: init does not read the workflow ${uses}`);
    return [];
  }
  const { on } = fieldsOf(data);
  const inputs = inputsOf(fieldsOf(fieldsOf(fieldsOf(on).workflow_call).inputs), given);
  return await workflowBuilds(data, { ...reading, inputs, caller: `${caller} `, depth: reading.depth + 1 });
}

/** The values that a caller gives, and the defaults of the others (docs.github.com, "Workflow syntax", on.workflow_call.inputs). */
function inputsOf(declared: Mapping, given: unknown): Mapping {
  const defaults = Object.entries(declared).map(([name, each]) => {
    const { type, default: standard } = fieldsOf(each);
    return [name, standard ?? (type === "boolean" ? false : type === "number" ? 0 : "")];
  });
  return { ...Object.fromEntries(defaults), ...fieldsOf(given) };
}

function runnerOf(runsOn: unknown, contexts: Contexts): Omit<Job, "name"> {
  const value = settled(runsOn, contexts);
  const labels = typeof value === "object" && value !== null && "labels" in value ? value.labels : value;
  const all = (Array.isArray(labels) ? labels : [labels ?? ""]).map((each) =>
    typeof each === "symbol"
      ? { known: "", written: each.description }
      : { known: String(each), written: each },
  );
  return {
    platform: runnerPlatform(all.map(({ known }) => known)),
    runner: all.map(({ written }) => written).join(", "),
  };
}

/** Adds environments: each may use the ones above it. */
function contextsOf(contexts: Contexts, environments: readonly unknown[]): Contexts {
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

interface Place {
  readonly contexts: Contexts;
  /** In which commands run. */
  readonly folder: string;
  /** Names of the variables that workflow and job set. */
  readonly variables: readonly string[];
}

async function stepsBuilds(
  job: Job,
  steps: readonly Mapping[],
  place: Place,
  reading: Reading,
): Promise<readonly OriginalBuild[]> {
  const builds: OriginalBuild[] = [];
  for (const step of steps) builds.push(...(await stepBuilds(job, step, place, reading)));
  return builds;
}

/** Actions whose names say that they build, and those among these that do not. */
const buildingActions = /\b(build|bake|kaniko|buildah|podman)\b|docker-?build|build-?(push|image)/i;
const otherActions = /setup|login|metadata|description|scan|cache|artifact|cleanup|prune/i;

async function stepBuilds(
  job: Job,
  step: Mapping,
  { contexts: around, folder, variables }: Place,
  reading: Reading,
): Promise<readonly OriginalBuild[]> {
  const contexts = contextsOf(around, [step.env]);
  if (isRuledOut(step.if, contexts)) return [];
  const place = { contexts, folder, variables: [...variables, ...Object.keys(fieldsOf(step.env))] };
  const uses = String(step.uses ?? "");
  const [action = ""] = uses.split("@");
  if (/^(docker|depot)\/build-push-action$/.test(action)) return actionBuilds(job, step, contexts);
  if (/^(docker|depot)\/bake-action$/.test(action)) return await bakeBuilds(job, step, place, reading);
  if (action.startsWith("./")) return await localAction(job, step, place, reading);
  if (buildingActions.test(action) && !otherActions.test(action))
    reading.notes.push(`job ${job.name}: init does not read the action ${uses}`);
  if (typeof step.run !== "string") return [];
  const own = textWith(String(step["working-directory"] ?? folder), contexts) ?? folder;
  const { builds, notes } = commandBuilds(job, { text: step.run, folder: own }, contexts);
  reading.notes.push(...notes);
  return builds;
}

/** Follows a composite action of the same repository. */
async function localAction(
  job: Job,
  step: Mapping,
  place: Place,
  reading: Reading,
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
  const { "build-args": buildArgs, context, file, platforms, target, ...others } = given;
  const args = argumentsIn(String(buildArgs ?? ""), contexts, left);
  const settings = Object.entries(others).map(([name, value]) => [name, String(value ?? "")] as const);
  return buildsOf(job, {
    context: contextOf(read("context")),
    file: read("file"),
    platforms: read("platforms"),
    target: read("target"),
    args,
    left,
    settings,
  });
}

/** The action's default context is the repository's Git URL, so a URL means the repository itself. */
function contextOf(text: string): string {
  return text === "" || /^(https?|git):|^git@/.test(text) ? "." : posix.normalize(text);
}

/** Settings of targets that make no other image. */
const elsewhere = /\.(tags|labels|annotations|cache-(from|to)|output|attest|pull|no-cache)(=|\+=|\.)/;

/** Asks buildx, once for each row. */
async function bakeBuilds(
  job: Job,
  step: Mapping,
  { contexts, variables }: Place,
  { repository, notes }: Reading,
): Promise<readonly OriginalBuild[]> {
  const given = fieldsOf(step.with);
  const left: string[] = [];
  const lines = (key: string, isFree = /$^/): readonly string[] =>
    String(given[key] ?? "")
      .split(key === "set" ? "\n" : /[\n,]/)
      .flatMap((line) => {
        const text = textWith(line, contexts)?.trim();
        if (text === undefined && !isFree.test(line)) left.push(notKnown(key, line));
        return text === undefined || text === "" || isFree.test(text) ? [] : [text];
      });
  const env = new Map(Object.entries(contexts.env).map(([name, value]) => [name, String(value)]));
  const request = {
    folder: lines("workdir")[0] ?? ".",
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
      left: [...build.left, ...left],
    }));
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    notes.push(`job ${job.name}: init does not read ${String(step.uses)}: ${error.problems[0]?.message}`);
    return [];
  }
}

/** Makes names unique: adds target and platform, and a number to equal ones. */
function withOwnNames(builds: readonly OriginalBuild[]): readonly OriginalBuild[] {
  const seen = new Map<string, number>();
  return builds.map((build) => {
    const name = [build.name, build.target, build.platform].filter((part) => part !== null).join(" ");
    const number = (seen.get(name) ?? 0) + 1;
    seen.set(name, number);
    return { ...build, name: number === 1 ? name : `${name} (${number})` };
  });
}
