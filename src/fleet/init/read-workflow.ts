/** Reads the builds of a GitHub workflow: steps with docker/build-push-action, `docker build` or `docker buildx build`. */

import { posix } from "node:path";
import { fieldsOf } from "../../io/json.ts";
import { parseYamlSource } from "../../io/yaml/yaml-source.ts";
import { splitWords } from "../dockerfile/instructions.ts";
import type { Definition, OriginalBuild } from "./original-build.ts";
import { type Contexts, isRuledOut, textWith } from "./workflow-expressions.ts";

type Mapping = Readonly<Record<string, unknown>>;

/** null for any other file. */
export function readWorkflow(text: string): Definition | null {
  const workflow = fieldsOf(withBooleans(parseYamlSource(text, "workflow").source.data));
  if (workflow.jobs === undefined) return null;
  const notes: string[] = [];
  const builds = Object.entries(fieldsOf(workflow.jobs)).flatMap(([id, job]) => {
    const own = fieldsOf(job);
    const rows = rowsOf(fieldsOf(own.strategy).matrix);
    if (rows === null) {
      notes.push(
        `job ${id}: its matrix is made when it runs, so nobody knows its rows: ${String(fieldsOf(own.strategy).matrix)}`,
      );
      return [];
    }
    return rows.flatMap((matrix) => {
      const contexts = contextsOf(matrix, [workflow.env, own.env]);
      if (isRuledOut(own.if, contexts)) return [];
      const named = [id, ...labelsOf(matrix)].join(" ");
      return listOf(own.steps).flatMap((step) => stepBuilds(named, fieldsOf(step), contexts));
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

/** A job's environment may use the environment above it. */
function contextsOf(matrix: Mapping, environments: readonly unknown[]): Contexts {
  let env: Mapping = {};
  for (const each of environments) {
    const known = Object.entries(fieldsOf(each)).flatMap(([name, value]) => {
      const text = textWith(String(value), { matrix, env });
      return text === undefined ? [] : [[name, text]];
    });
    env = { ...env, ...Object.fromEntries(known) };
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

function stepBuilds(job: string, step: Mapping, around: Contexts): readonly OriginalBuild[] {
  const contexts = contextsOf(around.matrix, [around.env, step.env]);
  if (isRuledOut(step.if, contexts)) return [];
  const uses = String(step.uses ?? "");
  if (/^docker\/build-push-action@/.test(uses)) return actionBuilds(job, step, contexts);
  return typeof step.run === "string" ? commandBuilds(job, step.run, contexts) : [];
}

function actionBuilds(job: string, step: Mapping, contexts: Contexts): readonly OriginalBuild[] {
  const left: string[] = [];
  const given = fieldsOf(step.with);
  const read = (key: string): string => {
    const text = textWith(String(given[key] ?? ""), contexts);
    if (text === undefined) left.push(`${key}: ${String(given[key])} is not known before the workflow runs`);
    return text?.trim() ?? "";
  };
  const args = argumentsIn(String(given["build-args"] ?? ""), contexts, left);
  const context = contextOf(read("context"));
  const [file, platforms, target] = [read("file"), read("platforms"), read("target")];
  return buildsOf(job, { context, file, platforms, target, args, left });
}

/** The action's default context is the repository's Git URL, so a URL means the repository itself. */
function contextOf(text: string): string {
  return text === "" || /^(https?|git):|^git@/.test(text) ? "." : posix.normalize(text);
}

function argumentsIn(text: string, contexts: Contexts, left: string[]): Readonly<Record<string, string>> {
  const pairs = text.split("\n").flatMap((line): [string, string][] => {
    const [, name = "", value = ""] = /^\s*([A-Za-z_]\w*)=(.*?)\s*$/.exec(line) ?? [];
    if (name === "") return [];
    const known = textWith(value, contexts);
    if (known !== undefined) return [[name, known]];
    left.push(`args.${name}: ${value} is not known before the workflow runs`);
    return [];
  });
  return Object.fromEntries(pairs);
}

/** The settings of a step; a text is empty if the step has none. */
interface StepSettings extends Pick<OriginalBuild, "context" | "args" | "left"> {
  readonly file: string;
  readonly platforms: string;
  readonly target: string;
}

/** A build for each platform. */
function buildsOf(
  name: string,
  { file, platforms, target, ...others }: StepSettings,
): readonly OriginalBuild[] {
  const dockerfile = posix.normalize(file === "" ? posix.join(others.context, "Dockerfile") : file);
  const all = platforms.split(/[\s,]+/).filter((each) => each !== "");
  const build = { ...others, name, dockerfile, target: target || null };
  return (all.length === 0 ? [null] : all).map((platform) => ({ ...build, platform }));
}

/** Finds `docker build` in a script. A backslash continues a line. */
function commandBuilds(job: string, run: string, contexts: Contexts): readonly OriginalBuild[] {
  return run
    .replace(/\\\n/g, " ")
    .split(/\n|&&|;/)
    .flatMap((command) => {
      const found = /^\s*(?:sudo\s+)?docker\s+(?:buildx\s+|image\s+)?build\s+(.*)$/.exec(command);
      return found === null ? [] : commandBuild(job, found[1] ?? "", contexts);
    });
}

const flagsWithoutValue = /^--(no-cache|pull|push|load|quiet|rm|force-rm|squash|check)$|^-q$/;

function commandBuild(job: string, flags: string, contexts: Contexts): readonly OriginalBuild[] {
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
  let context = ".";
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    const [, flag = "", , inline] = /^(--?[\w-]+)(=(.*))?$/s.exec(word) ?? [];
    if (flag === "") context = known(word);
    else if (!flagsWithoutValue.test(word)) {
      const value = inline ?? words[++at] ?? "";
      if (/^(-f|--file|--target|--platform|--build-arg)$/.test(flag))
        options[flag] = [...(options[flag] ?? []), value];
    }
  }
  const one = (...names: readonly string[]) =>
    known(names.flatMap((name) => options[name] ?? []).at(-1) ?? "");
  const file = one("-f", "--file");
  const given = (options["--build-arg"] ?? []).map((each) => expandedArgument(each, contexts));
  const args = argumentsIn(given.join("\n"), contexts, left);
  const [platforms, target] = [one("--platform"), one("--target")];
  return buildsOf(job, { context: posix.normalize(context), file, platforms, target, args, left });
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
