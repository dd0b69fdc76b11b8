/** Reads the builds of a GitHub workflow, job by job, and of the workflows of the repository that its jobs call. */

import { usageError } from "../../errors.ts";
import { fieldsOf, isRecord } from "../../io/json.ts";
import { inputLimits } from "../../io/limits.ts";
import type { Definition, OriginalBuild } from "./original-build.ts";
import { commandsOf } from "./shell-words.ts";
import type { Job } from "./workflow-builds.ts";
import { type Contexts, isRuledOut, settled } from "./workflow-expressions.ts";
import { labelsOf, listOf, rowsOf } from "./workflow-rows.ts";
import {
  contextsOf,
  deepestCall,
  folderIn,
  inputsOf,
  type Mapping,
  type Repository,
  type StepReading,
  stepsBuilds,
} from "./workflow-steps.ts";

/** GitHub's YAML: 12.80 is a number, and ~ is null. */
export const workflowYaml = {
  limit: inputLimits.matrix,
  syntax: "MATRIX_SYNTAX",
  duplicate: "MATRIX_DUPLICATE",
  schema: "core",
} as const;

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

interface Reading extends StepReading, Pick<Contexts, "inputs"> {
  /** The name of the calling job, with a blank; empty for the workflow itself. */
  readonly caller: string;
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
        `job ${id}: its matrix is made at run time, or has more rows than GitHub takes: the rows are not known: ${JSON.stringify(matrix).slice(0, 200)}`,
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
  const one = (key: string) => folders.map((each) => each[key]).find(Boolean);
  const own = { name, ...runnerOf(job["runs-on"], contexts) };
  const written = writtenIn(steps);
  const variables = [
    ...[workflow.env, job.env].flatMap((env) => Object.keys(fieldsOf(env))),
    ...(written ?? []),
  ];
  const env = Object.entries(contexts.env).filter(([each]) => written !== null && !written.has(each));
  const known = { ...contexts, env: Object.fromEntries(env) };
  const place = {
    contexts: known,
    folder: folderIn(one("working-directory"), known) ?? { path: ".", why: null },
    // Windows' own (docs.github.com, "Workflow syntax", steps[*].shell).
    shell: String(one("shell") ?? (own.runner.some((label) => /windows/i.test(label)) ? "pwsh" : "")),
    variables,
    files: { commands: [], repositories: new Map(), written: [] },
  };
  const builds = await stepsBuilds(own, steps, place, reading);
  if (builds.length > 0 && own.runner.length === 0 && own.runsOn !== "")
    reading.notes.push(
      `job ${name}: the matrix has no runner for runs-on ${own.runsOn}, which is a group or is not known before a run`,
    );
  return builds;
}

/** Variables that a step writes for later steps: a job's own value may not be theirs. null if nobody knows which. */
function writtenIn(steps: readonly Mapping[]): ReadonlySet<string> | null {
  const scripts = steps.map(({ run }) => String(run ?? "")).filter((script) => script.includes("GITHUB_ENV"));
  const found = new Set<string>();
  for (const script of scripts) {
    const before = found.size;
    const commands = commandsOf(script, { matrix: {}, env: {}, inputs: null });
    const texts = commands.flatMap(({ words, document }) => [
      ...words.map(({ written }) => written),
      document,
    ]);
    for (const text of texts) {
      // A name that is a variable's value.
      if (/\$\{?\w+\}?=/.test(text)) return null;
      for (const [, name = ""] of text.matchAll(/(?<!\w)(\w+)(?:=|<<)/g)) found.add(name);
    }
    if (found.size === before) return null;
  }
  return found;
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

/** No `runner` for what a run alone knows, and for a group of runners, which no label stands for. */
export function runnerOf(runsOn: unknown, contexts: Contexts): Omit<Job, "name"> {
  const value = settled(runsOn, contexts);
  const { group, labels = [] } = isRecord(value) ? value : { group: undefined, labels: value };
  const all = listOf(Array.isArray(labels) ? labels : [labels ?? ""]).map((each) =>
    typeof each === "symbol"
      ? { known: "", written: each.description }
      : { known: String(each), written: String(each) },
  );
  const isKnown = group === undefined && all.every(({ known }) => known !== "");
  return {
    platform: runnerPlatform(all.map(({ known }) => known)),
    runsOn: [
      ...(group === undefined ? [] : [`group ${String(group)}`]),
      ...all.map(({ written }) => written),
    ].join(", "),
    runner: isKnown ? all.map(({ known }) => known) : [],
  };
}

/** Makes names unique: adds target and platform, and a number to equal ones. */
export function withOwnNames(builds: readonly OriginalBuild[]): readonly OriginalBuild[] {
  const seen = new Map<string, number>();
  return builds.map((build) => {
    const name = [build.name, build.target, build.platform].filter((part) => part !== null).join(" ");
    const number = (seen.get(name) ?? 0) + 1;
    seen.set(name, number);
    return { ...build, name: number === 1 ? name : `${name} (${number})` };
  });
}

/** Of GitHub's own machines and of its labels for others (docs.github.com, "Choosing the runner for a job"), and as people name theirs. */
const platforms: readonly (readonly [RegExp, string])[] = [
  [/^ubuntu-(latest|slim|\d+\.\d+)$/i, "linux/amd64"],
  [/^ubuntu-\d+\.\d+-arm$/i, "linux/arm64"],
  [/(^|[^a-z0-9])(x64|x86[_-]64|amd64)($|[^a-z0-9])/i, "linux/amd64"],
  [/(^|[^a-z0-9])(arm64|aarch64)($|[^a-z0-9])/i, "linux/arm64"],
];

/** null if the labels tell none, or several. */
function runnerPlatform(labels: readonly string[]): string | null {
  const told = labels.flatMap((label) =>
    platforms.flatMap(([names, platform]) => (names.test(label) ? [platform] : [])),
  );
  const [platform = null, ...others] = new Set(told);
  return others.length > 0 ? null : platform;
}
