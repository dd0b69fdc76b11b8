/** Reads the builds of a GitHub workflow: steps with docker/build-push-action, `docker build` or `docker buildx build`. */

import { posix } from "node:path";
import { fieldsOf } from "../../io/json.ts";
import { splitWords } from "../dockerfile/instructions.ts";
import { sortSettings } from "./build-settings.ts";
import type { Definition, OriginalBuild } from "./original-build.ts";
import { runnerPlatform } from "./runner-platform.ts";
import { type Contexts, isRuledOut, textWith } from "./workflow-expressions.ts";

type Mapping = Readonly<Record<string, unknown>>;

/** @param data of the YAML, with every scalar as a text */
export function readWorkflow(data: unknown): Definition {
  const workflow = fieldsOf(withBooleans(data));
  const notes: string[] = [];
  const builds = Object.entries(fieldsOf(workflow.jobs)).flatMap(([id, job]) => {
    const own = fieldsOf(job);
    const rows = rowsOf(fieldsOf(own.strategy).matrix);
    if (rows === null) {
      notes.push(
        `job ${id}: its matrix is made when it runs, so nobody knows its rows: ${JSON.stringify(fieldsOf(own.strategy).matrix)}`,
      );
      return [];
    }
    return rows.flatMap((matrix) => {
      const contexts = contextsOf(matrix, [workflow.env, own.env]);
      if (isRuledOut(own.if, contexts)) return [];
      const name = [id, ...labelsOf(matrix)].join(" ");
      const runner = runnerOf(own["runs-on"], contexts);
      return listOf(own.steps).flatMap((step) => stepBuilds({ name, ...runner }, fieldsOf(step), contexts));
    });
  });
  return { builds: withOwnNames(builds), notes };
}

/** Turns `true` and `false` into booleans: all scalars were read as texts, and the text `false` would hold in a condition. */
function withBooleans(value: unknown): unknown {
  if (value === "true" || value === "false") return value === "true";
  if (Array.isArray(value)) return value.map(withBooleans);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withBooleans(each)]));
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The label of each value: its text, or the first text of a mapping. */
function labelsOf(matrix: Mapping): readonly string[] {
  return Object.values(matrix)
    .map((value) =>
      typeof value === "object" && value !== null
        ? Object.values(value).find((each) => typeof each === "string")
        : value,
    )
    .filter((value) => value !== undefined && value !== null && value !== "")
    .map(String);
}

interface Job {
  /** With the labels of its row. */
  readonly name: string;
  /** The runner's; null if unknown. */
  readonly platform: string | null;
  /** `runs-on`, for messages. */
  readonly runner: string;
}

function runnerOf(runsOn: unknown, contexts: Contexts): Omit<Job, "name"> {
  const labels = typeof runsOn === "object" && runsOn !== null && "labels" in runsOn ? runsOn.labels : runsOn;
  const written = (Array.isArray(labels) ? labels : [labels ?? ""]).map(String);
  const known = written.map((label) => textWith(label, contexts) ?? "");
  return { platform: runnerPlatform(known), runner: known.map((text, at) => text || written[at]).join(", ") };
}

/** A job's environment may use the environment above it. */
function contextsOf(matrix: Mapping, environments: readonly unknown[]): Contexts {
  let env: Mapping = {};
  for (const each of environments) {
    const own = new Map(Object.entries(env));
    for (const [name, value] of Object.entries(fieldsOf(each))) {
      const text = textWith(String(value), { matrix, env });
      // An unknown value hides a known one above it.
      if (text === undefined) own.delete(name);
      else own.set(name, text);
    }
    env = Object.fromEntries(own);
  }
  return { matrix, env };
}

/** Makes the rows as GitHub does (docs.github.com, "Running variations of jobs in a workflow"); null for a matrix that is made at run time. */
function rowsOf(matrix: unknown): readonly Mapping[] | null {
  if (matrix === undefined) return [{}];
  const { include, exclude, ...axes } = fieldsOf(matrix);
  const written = [include ?? [], exclude ?? [], ...Object.values(axes)];
  if (Object.keys(fieldsOf(matrix)).length === 0 || !written.every(Array.isArray)) return null;
  const names = Object.keys(axes);
  const product = names.reduce<readonly Mapping[]>(
    (rows, axis) => rows.flatMap((row) => listOf(axes[axis]).map((value) => ({ ...row, [axis]: value }))),
    names.length === 0 ? [] : [{}],
  );
  const kept = product.filter(
    (row) =>
      !listOf(exclude).some((rule) =>
        Object.entries(fieldsOf(rule)).every(([axis, value]) => isEqual(row[axis], value)),
      ),
  );
  let rows = kept.map((original) => ({ original, row: original }));
  const alone: Mapping[] = [];
  for (const added of listOf(include).map(fieldsOf)) {
    const fits = ({ original }: { readonly original: Mapping }) =>
      names.every((axis) => !Object.hasOwn(added, axis) || isEqual(original[axis], added[axis]));
    if (rows.some(fits))
      rows = rows.map((each) => (fits(each) ? { ...each, row: { ...each.row, ...added } } : each));
    else alone.push(added);
  }
  return [...rows.map(({ row }) => row), ...alone];
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function stepBuilds(job: Job, step: Mapping, around: Contexts): readonly OriginalBuild[] {
  const contexts = contextsOf(around.matrix, [around.env, step.env]);
  if (isRuledOut(step.if, contexts)) return [];
  const uses = String(step.uses ?? "");
  if (/^docker\/build-push-action@/.test(uses)) return actionBuilds(job, step, contexts);
  return typeof step.run === "string" ? commandBuilds(job, step.run, contexts) : [];
}

function actionBuilds(job: Job, step: Mapping, contexts: Contexts): readonly OriginalBuild[] {
  const left: string[] = [];
  const given = fieldsOf(step.with);
  const read = (key: string): string => {
    const text = textWith(String(given[key] ?? ""), contexts);
    if (text === undefined) left.push(`${key}: ${String(given[key])} is not known before the workflow runs`);
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

/** A line may be an expression that makes whole arguments: `${{ matrix.cuda && format('CUDA_VERSION={0}', matrix.cuda) }}`. */
function argumentsIn(text: string, contexts: Contexts, left: string[]): Readonly<Record<string, string>> {
  const pairs = text.split("\n").flatMap((line) => {
    const known = textWith(line, contexts);
    if (known !== undefined) return known.split("\n").flatMap(pairsIn);
    const [[name, value] = [null, line.trim()]] = pairsIn(line);
    left.push(
      `${name === null ? "build-args" : `args.${name}`}: ${value} is not known before the workflow runs`,
    );
    return [];
  });
  return Object.fromEntries(pairs);
}

/** One, or none in a line of another form. */
function pairsIn(line: string): readonly (readonly [name: string, value: string])[] {
  const [, name, value = ""] = /^\s*([A-Za-z_]\w*)=(.*?)\s*$/.exec(line) ?? [];
  return name === undefined ? [] : [[name, value]];
}

/** The settings of a step; a text is empty if the step has none. */
interface StepSettings extends Pick<OriginalBuild, "context" | "args" | "left"> {
  readonly file: string;
  readonly platforms: string;
  readonly target: string;
  /** All others. */
  readonly settings: Parameters<typeof sortSettings>[0];
}

/** A build for each platform. */
function buildsOf(
  { name, platform: own, runner }: Job,
  { file, platforms, target, settings, ...others }: StepSettings,
): readonly OriginalBuild[] {
  const dockerfile = posix.normalize(file === "" ? posix.join(others.context, "Dockerfile") : file);
  const all = platforms.split(/[\s,]+/).filter((each) => each !== "");
  const sorted = sortSettings(settings);
  const isUnknown = all.length === 0 && own === null && runner !== "";
  const left = [
    ...others.left,
    ...sorted.left,
    ...(isUnknown ? [`platform: the build names none, and the runner's is not known: ${runner}`] : []),
  ];
  const build = { ...others, ofRun: sorted.ofRun, left, name, dockerfile, target: target || null };
  return (all.length === 0 ? [own] : all).map((platform) => ({ ...build, platform }));
}

/** Finds `docker build` in a script. A backslash continues a line. */
function commandBuilds(job: Job, run: string, contexts: Contexts): readonly OriginalBuild[] {
  return run
    .replace(/\\\n/g, " ")
    .split(/\n|&&|;/)
    .flatMap((command) => {
      const found = /^\s*(?:sudo\s+)?docker\s+(?:buildx\s+|image\s+)?build\s+(.*)$/.exec(command);
      return found === null ? [] : commandBuild(job, found[1] ?? "", contexts);
    });
}

const flagsWithoutValue = /^--(no-cache|pull|push|load|quiet|rm|force-rm|squash|check)$|^-q$/;
const flagsThatAreRead = /^(-f|--file|--target|--platform|--build-arg)$/;

function commandBuild(job: Job, flags: string, contexts: Contexts): readonly OriginalBuild[] {
  const left: string[] = [];
  const words = splitWords(protectedExpressions(flags)).map(({ text }) => unquoted(text));
  const known = (text: string): string => {
    const value = textWith(text, contexts);
    const expanded = value?.replace(/\$\{?(\w+)\}?/g, (whole, name: string) =>
      String(contexts.env[name] ?? whole),
    );
    if (expanded === undefined || /\$[\w({]/.test(expanded))
      left.push(`${text} is not known before the workflow runs`);
    return expanded ?? "";
  };
  const options: Record<string, string[]> = {};
  const settings: (readonly [string, string])[] = [];
  let context = ".";
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    const [, flag = "", , inline] = /^(--?[\w-]+)(=(.*))?$/s.exec(word) ?? [];
    if (flag === "") context = known(word);
    else {
      const value = inline ?? (flagsWithoutValue.test(word) ? "true" : (words[++at] ?? ""));
      if (flagsThatAreRead.test(flag)) options[flag] = [...(options[flag] ?? []), value];
      else settings.push([flag.replace(/^--?/, ""), value]);
    }
  }
  const one = (...names: readonly string[]) =>
    known(names.flatMap((name) => options[name] ?? []).at(-1) ?? "");
  const file = one("-f", "--file");
  const given = (options["--build-arg"] ?? []).map((each) => expandedArgument(each, contexts));
  const args = argumentsIn(given.join("\n"), contexts, left);
  const [platforms, target] = [one("--platform"), one("--target")];
  return buildsOf(job, { context: posix.normalize(context), file, platforms, target, args, left, settings });
}

/** `NAME` without a value takes that of the environment. */
function expandedArgument(text: string, { env }: Contexts): string {
  const named = /^\w+$/.test(text) ? `${text}=\${{ env.${text} }}` : text;
  return named.replace(
    /\$(?!\{\{)\{?(\w+)\}?/g,
    (whole, name: string) => (Object.hasOwn(env, name) ? String(env[name]) : `\${{ env.${name} }}`) || whole,
  );
}

/** Removes blanks within expressions, so that these stay one word. */
function protectedExpressions(text: string): string {
  return text.replace(/\$\{\{(.*?)\}\}/gs, (_, inner: string) => `\${{${inner.replace(/\s+/g, "")}}}`);
}

function unquoted(text: string): string {
  return text.replace(/(["'])(.*?)\1/gs, "$2");
}

/** Makes names unique: adds target and platform, and a number to equal ones. */
function withOwnNames(builds: readonly OriginalBuild[]): readonly OriginalBuild[] {
  const named = builds.map((build) => ({
    ...build,
    name: [build.name, build.target, build.platform].filter((part) => part !== null).join(" "),
  }));
  return named.map((build, index) => {
    const same = named.slice(0, index).filter(({ name }) => name === build.name).length;
    return same === 0 ? build : { ...build, name: `${build.name} (${same + 1})` };
  });
}
