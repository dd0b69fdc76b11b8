/**
 * What a definition builds, by readers that are not imgmatch: `docker buildx bake --print` for bake and compose files; for workflows the
 * expressions of GitHub's own package, the rules of docs.github.com for matrices, and bash, which gives a `docker` of ours its words.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, posix } from "node:path";
import { data, Evaluator, Lexer, Parser } from "@actions/expressions";
import { parse } from "yaml";
import type { Definition } from "./definitions.ts";

/** A text with {@link runOnly} in it is known only in a run. */
export interface Expected {
  readonly dockerfile: string;
  readonly context: string;
  readonly target: string;
  /** Empty for that of the builder, or of the runner. */
  readonly platform: string;
  readonly args: Readonly<Record<string, string>>;
}

export const runOnly = "\u0001";

type Mapping = Readonly<Record<string, unknown>>;

export function evaluate({ by, file }: Definition, folder: string): readonly Expected[] {
  return by === "buildx" ? byBuildx(file, folder) : byGithub(readFileSync(join(folder, file), "utf8"));
}

/** Compose files are relative to their own folder, and a service has a platform (Compose specification). */
function byBuildx(file: string, folder: string): readonly Expected[] {
  const isCompose = /\.ya?ml$/.test(file);
  const below = isCompose ? dirname(file) : ".";
  const home = mkdtempSync(join(tmpdir(), "takeover-"));
  const args = ["buildx", "bake", "--print", "--file", isCompose ? basename(file) : file];
  const env = { PATH: process.env.PATH ?? "", HOME: home };
  const { status, stdout, stderr } = spawnSync("docker", args, { cwd: join(folder, below), env });
  rmSync(home, { recursive: true });
  // What buildx refuses builds nothing.
  if (status !== 0 && /^ERROR: /m.test(String(stderr))) return [];
  if (status !== 0) throw new Error(`${file}: ${stderr}`);
  const services = isCompose
    ? mapping(mapping(parse(readFileSync(join(folder, file), "utf8"), yaml)).services)
    : {};
  const printed = mapping(mapping(JSON.parse(String(stdout))).target);
  return Object.entries(printed).flatMap(([name, target]) => {
    const {
      context = ".",
      dockerfile = "Dockerfile",
      target: stage = "",
      platforms,
      args = {},
    } = mapping(target);
    const own = list(platforms).length > 0 ? list(platforms) : [mapping(services[name]).platform ?? ""];
    const given = Object.entries(mapping(args)).flatMap(([key, value]) =>
      value === null ? [] : [[key, String(value)]],
    );
    return own.map((platform) => ({
      // The builder's own is `local` for bake.
      dockerfile: posix.join(below, String(context), String(dockerfile)),
      context: posix.join(below, String(context)),
      target: String(stage),
      platform: platform === "local" ? "" : String(platform),
      args: Object.fromEntries(given),
    }));
  });
}

/** Merge keys are of YAML 1.1, which compose reads. */
const yaml = { merge: true, schema: "core" } as const;

function byGithub(text: string): readonly Expected[] {
  const workflow = mapping(parse(text, yaml));
  return Object.values(mapping(workflow.jobs)).flatMap((each) => {
    const job = mapping(each);
    const { matrix } = mapping(job.strategy);
    // A matrix that is made in the run: nobody knows its rows.
    if (typeof matrix === "string") return jobBuilds(workflow, job, null);
    return rowsOf(mapping(matrix)).flatMap((row) => jobBuilds(workflow, job, row));
  });
}

/** The product without `exclude`; then `include` (docs.github.com, "Running variations of jobs in a workflow"). */
function rowsOf({ include, exclude, ...axes }: Mapping): readonly Mapping[] {
  const names = Object.keys(axes);
  let product: Mapping[] = names.length === 0 ? [] : [{}];
  for (const name of names)
    product = product.flatMap((row) => list(axes[name]).map((value) => ({ ...row, [name]: value })));
  const agrees = (row: Mapping, rule: Mapping, keys: readonly string[]) =>
    keys.every((key) => JSON.stringify(row[key]) === JSON.stringify(rule[key]));
  const kept = product.filter(
    (row) => !list(exclude).some((rule) => agrees(row, mapping(rule), Object.keys(mapping(rule)))),
  );
  const rows = kept.map((row) => ({ row, whole: row }));
  for (const rule of list(include).map(mapping)) {
    const fitting = rows.filter(({ row }) =>
      agrees(
        row,
        rule,
        Object.keys(rule).filter((key) => names.includes(key)),
      ),
    );
    if (fitting.length === 0 || names.length === 0) rows.push({ row: rule, whole: rule });
    for (const one of names.length === 0 ? [] : fitting) one.whole = { ...one.whole, ...rule };
  }
  const found = rows.map(({ whole }) => whole);
  return found.length === 0 ? [{}] : found;
}

function jobBuilds(workflow: Mapping, job: Mapping, matrix: Mapping | null): readonly Expected[] {
  const builds: Expected[] = [];
  let env: Record<string, string> = {};
  const withOwn = (own: unknown): Record<string, string> => {
    const added = Object.entries(mapping(own)).map(([name, value]) => [
      name,
      textOf(String(value ?? ""), matrix, env),
    ]);
    return { ...env, ...Object.fromEntries(added) };
  };
  env = withOwn(workflow.env);
  env = withOwn(job.env);
  for (const step of list(job.steps).map(mapping)) {
    const around = env;
    env = withOwn(step.env);
    const read = (value: unknown) => textOf(String(value ?? ""), matrix, env).trim();
    const condition = String(step.if ?? "true").replace(/^\s*\$\{\{(.*)\}\}\s*$/s, "$1");
    const isOut = ["", "false", "0"].includes(textOf(`\${{ (${condition}) && true }}`, matrix, env));
    if (!isOut && /^docker\/build-push-action@/.test(String(step.uses))) {
      const given = mapping(step.with);
      const context = posix.normalize(read(given.context) || ".");
      const lines = read(given["build-args"])
        .split("\n")
        .filter((line) => line.trim() !== "");
      const platforms = read(given.platforms).split(/[\s,]+/);
      const dockerfile = posix.normalize(read(given.file) || posix.join(context, "Dockerfile"));
      for (const platform of platforms)
        builds.push({
          dockerfile,
          context,
          target: read(given.target),
          platform,
          args: argumentsIn(lines, env),
        });
    }
    if (!isOut && typeof step.run === "string") builds.push(...scriptBuilds(read(step.run), env));
    env = around;
    // Nobody knows what a step writes for later ones, without running the step.
    for (const [, name = ""] of /GITHUB_ENV/.test(String(step.run)) && !isOut
      ? String(step.run).matchAll(/(\w+)=/g)
      : [])
      env[name] = runOnly;
  }
  return builds;
}

function argumentsIn(
  lines: readonly string[],
  env: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    lines.map((line) => {
      const [, name = line.trim(), value = env[line.trim()] ?? runOnly] = /^\s*(\w+)=(.*)$/s.exec(line) ?? [];
      return [name, value];
    }),
  );
}

/** Contexts whose values only a run has. */
const ofRun =
  /\b(github|secrets|steps|needs|vars|runner|job|strategy|inputs|hashFiles|always|success|failure|cancelled)\b/;

function textOf(text: string, matrix: Mapping | null, env: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{\{(.*?)\}\}/gs, (_, inner: string) => {
    const names = inner.replace(/'[^']*'/g, "");
    if (ofRun.test(names) || (matrix === null && /\bmatrix\b/.test(names))) return runOnly;
    const expression = new Parser(new Lexer(inner).lex().tokens, ["matrix", "env"], []).parse();
    const contexts = new data.Dictionary(
      { key: "matrix", value: dataOf(matrix) },
      { key: "env", value: dataOf(env) },
    );
    return new Evaluator(expression, contexts).evaluate().coerceString();
  });
}

function dataOf(value: unknown): data.ExpressionData {
  return JSON.parse(JSON.stringify(value ?? null), data.reviver) as data.ExpressionData;
}

/** A restricted shell finds no program but its own; the `docker` of ours tells its words. */
function scriptBuilds(script: string, env: Readonly<Record<string, string>>): readonly Expected[] {
  const head = `enable -n kill exec eval source . trap\ncommand_not_found_handle() { :; }\ndocker() { printf '%s\\0' "$@" '\\002' >&9; }\n`;
  const { output } = spawnSync("/bin/bash", ["--noprofile", "--norc", "-r", "-c", `${head}${script}`], {
    env: {
      ...env,
      PATH: "/nowhere",
      GITHUB_SHA: runOnly,
      GITHUB_REF_NAME: runOnly,
      GITHUB_REPOSITORY: runOnly,
    },
    cwd: "/",
    stdio: ["ignore", "ignore", "ignore", ...Array<"ignore">(6).fill("ignore"), "pipe"],
  });
  const calls = String(output[9] ?? "").split("\\002\0");
  return calls.flatMap((call) => dockerBuild(call.split("\0").slice(0, -1)));
}

const flags: Readonly<Record<string, string>> = { "-f": "--file", "-t": "--tag" };
const alone = /^--(no-cache|pull|push|load|quiet|rm|force-rm|squash)$|^-q$/;

function dockerBuild(words: readonly string[]): readonly Expected[] {
  const at = words.indexOf("build");
  if (at < 0 || at > 1) return [];
  const given: Record<string, string[]> = {};
  const paths: string[] = [];
  const rest = words.slice(at + 1);
  while (rest.length > 0) {
    const word = rest.shift() ?? "";
    if (!word.startsWith("-")) paths.push(word);
    else if (!alone.test(word)) {
      const [, flag = word, inline] = /^(--?[\w-]+)=(.*)$/s.exec(word) ?? [];
      const name = flags[flag] ?? flag;
      given[name] = [...(given[name] ?? []), inline ?? rest.shift() ?? ""];
    }
  }
  const context = posix.normalize(paths[0] ?? ".");
  const file = given["--file"]?.[0];
  return [
    {
      dockerfile: posix.normalize(file ?? posix.join(context, "Dockerfile")),
      context,
      target: given["--target"]?.[0] ?? "",
      platform: given["--platform"]?.[0] ?? "",
      args: argumentsIn(given["--build-arg"] ?? [], {}),
    },
  ];
}

function mapping(value: unknown): Mapping {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Mapping) : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
