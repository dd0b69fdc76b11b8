/** Parses `matrix.yaml`, and reports every mistake with its place. */

import { type Problem, throwProblems } from "../../errors.ts";
import { checkAxisName, checkLabels } from "./reserved-names.ts";
import { parseIncludes } from "./include.ts";
import type {
  Attestations,
  Axis,
  Case,
  Exclusion,
  Located,
  Matrix,
  NamedText,
  NamedValue,
  VersionSource,
} from "./matrix.ts";
import { mistake, referenceProblems, valueProblem } from "./matrix-problems.ts";
import type { Environment } from "../../io/world.ts";
import { withEnvironment } from "./environment-arguments.ts";
import { unsafeTextProblems } from "./unsafe-text.ts";
import { kindOfAxis, type PatternInput } from "./value-schemas.ts";
import { type MatrixInput, matrixSchema, type VersionInput } from "./matrix-schema.ts";
import { baseProblems, findParents } from "./base-images.ts";
import { parseAxes, wellFormedAxes } from "./parse-axes.ts";
import { schemaProblems } from "./schema-problems.ts";
import { argumentProblems, formProblems } from "./secret-names.ts";
import { allValues, none, parseCompiler } from "./values.ts";
import {
  broughtBy,
  broughtProblems,
  listOf,
  locatedTexts,
  parseMatch,
  parseSettings,
  splitKey,
} from "./settings.ts";
import type { YamlPath } from "../../io/yaml/yaml-places.ts";
import { parseYamlSource, type YamlSource } from "../../io/yaml/yaml-source.ts";
import { digestOf } from "../../oci/digest-of.ts";

const defaultTag = "{{version}}-{{cell}}-{{inputs}}";

/**
 * Reads a matrix. `file` is the name for messages; paths in the result stay relative to it. `env` has the variables of arguments.
 *
 * Throws `ImgmatchError` with every mistake, each with `file:line:column`.
 *
 * @example
 * const matrix = parseMatrix(await readFile("matrix.yaml", "utf8"), "matrix.yaml");
 */
export function parseMatrix(text: string, file: string, env: Environment = {}): Matrix {
  const { source, problems: syntax } = parseYamlSource(text, file);
  if (source.data === null) throwProblems(inOrder(syntax));
  const problems: Problem[] = [...syntax, ...unsafeTextProblems(source)];
  const checked = matrixSchema.safeParse(source.data, { reportInput: true });
  if (!checked.success) {
    problems.push(...schemaProblems(checked.error.issues, source));
    // Values that the schema accepts are parsed too, so that one run names every mistake.
    parseAxes({ axes: wellFormedAxes(source.data) }, source, problems);
    throwProblems(inOrder(problems));
    throw checked.error;
  }
  const input = withEnvironment(checked.data, env, source, problems);
  const axes = parseAxes(input, source, problems);
  const values = parseNamedTexts(input, axes, source, problems);
  const exclude = parseExclusions(input, axes, source, problems);
  const include = parseIncludes(input, axes, source, problems);
  checkPreferences(input, { axes, include }, source, problems);
  checkReferences(input, source, problems);
  checkLabels(input, source, problems);
  problems.push(...argumentProblems(input.args, source, []), ...formProblems(source));
  const version = parseVersion(input.version, source, problems);
  throwProblems(inOrder(problems));
  const located = (value: string, key: string) => ({ value, at: source.placeOf([key]) });
  return {
    file,
    digest: digestOf(text.replaceAll("\r\n", "\n")),
    name: input.name,
    ...version,
    source: input.source ?? null,
    ...unset,
    ...parseSettings(input, source.placeOf),
    template: located(input.template, "template"),
    repository: repositoryBelow(input.registry, input.name),
    tag: located(input.tag ?? defaultTag, "tag"),
    ...namesOf(input, source),
    notSecret: input.notSecret ?? [],
    labels: input.labels ?? {},
    parents: findParents(source),
    replaceBases: locatedTexts("replaceBases", input.replaceBases ?? {}, source.placeOf),
    compiler: parseCompiler(input.compiler),
    prefer: input.prefer ?? [],
    plainPull: input.plainPull === "least" ? "least" : undefined,
    measure: input.measure !== "false",
    attest: attestationsOf(input, source),
    axes,
    values,
    exclude,
    include,
  };
}

/** Settings that a matrix may leave out. */
const unset = {
  target: null,
  context: null,
  contexts: null,
  base: null,
  args: {},
  runner: null,
  timeoutMinutes: null,
  freeDisk: null,
  guard: null,
};

/** `"1.4.0"`, `{ env: VERSION, default: "0.0.0-dev" }`, `{ git: describe }`. */
function parseVersion(
  input: VersionInput,
  source: YamlSource,
  problems: Problem[],
): Pick<Matrix, "version" | "versionFrom"> {
  if (typeof input === "string") return { version: input, versionFrom: null };
  const from = (value: VersionSource) => ({ version: "", versionFrom: { value, at } });
  const { env, git, default: fallback } = input;
  const at = source.placeOf(["version"]);
  if (env !== undefined && git === undefined)
    return from({ from: "environment", name: env, fallback: fallback ?? null });
  if (git !== undefined && env === undefined && fallback === undefined)
    return from({ from: "git", asks: git });
  const message = "version is a text, or names one of env and git; default belongs to env";
  const fix =
    'write version: "1.4.0", { env: VERSION }, { env: VERSION, default: "0.0.0-dev" } or { git: describe }';
  problems.push(mistake(message, fix, at));
  return { version: "", versionFrom: null };
}

function parseExclusions(
  input: MatrixInput,
  axes: readonly Axis[],
  source: YamlSource,
  problems: Problem[],
): Exclusion[] {
  return (input.exclude ?? []).map((entry, index): Exclusion => {
    const { reason, ...patterns } = entry;
    const at = source.placeOf(["exclude", index]);
    if (Object.keys(patterns).length === 0) {
      problems.push(mistake("this exclude would match every cell", "name at least one axis", at));
    }
    problems.push(...unknownAxes("exclude", Object.keys(patterns), axes, source, ["exclude", index]));
    return { at, reason, match: parseMatch(patterns as Record<string, PatternInput>) };
  });
}

/** The mistakes in the names of an `exclude` or a `when`: an axis, or `axis.key` for a further key of its values. */
function unknownAxes(
  what: string,
  names: readonly string[],
  axes: readonly Axis[],
  source: YamlSource,
  path: YamlPath,
): Problem[] {
  const known = new Set([...axes.map(({ name }) => name), "platform"]);
  return names.flatMap((name) => {
    const [axis = "", key] = splitKey(name);
    const report = (message: string, fix: string) => [
      valueProblem(`${what} names ${message}`, fix, source.placeOfKey([...path, name])),
    ];
    if (!known.has(axis))
      return report(`an unknown axis ${JSON.stringify(axis)}`, `the axes are ${[...known].join(", ")}`);
    const values = axes.find((each) => each.name === axis)?.values ?? [];
    const keys = new Set(values.flatMap(({ data }) => Object.keys(data)));
    if (key === undefined || keys.has(key)) return [];
    const fix = keys.size === 0 ? `write ${axis}` : `the values of ${axis} have ${[...keys].join(", ")}`;
    return report(`${name}, a key that no value of ${axis} has`, fix);
  });
}

/** Parses `values:`. Checks the axes that cases name, those of `compute` too. */
function parseNamedTexts(
  input: MatrixInput,
  axes: readonly Axis[],
  source: YamlSource,
  problems: Problem[],
): NamedText[] {
  const others = axes.filter(({ kind }) => kind !== "compute");
  for (const [index, value] of (input.axes.compute ?? []).entries()) {
    if (typeof value === "string" || Array.isArray(value)) continue;
    for (const [number, { when = {} }] of (value.cases ?? []).entries()) {
      const path = ["axes", "compute", index, "cases", number, "when"];
      problems.push(...unknownAxes("when of compute", Object.keys(when), others, source, path));
    }
  }
  return Object.entries(input.values ?? {}).map(([name, cases]): NamedText => {
    const at = source.placeOfKey(["values", name]);
    checkAxisName(name, at, problems);
    if (kindOfAxis(name) !== "free" || axes.some((axis) => axis.name === name))
      problems.push(mistake(`${name} is an axis too`, "choose another name", at));
    return {
      name,
      cases: cases.map((each, index): Case<NamedValue> => {
        const path = ["values", name, index];
        const place = source.placeOf(path);
        const { when = {}, value = null } = each;
        problems.push(...unknownAxes("when", Object.keys(when), axes, source, [...path, "when"]));
        problems.push(...broughtProblems(each, "free", source, path));
        return { at: place, when: parseMatch(when), chosen: { ...broughtBy(each, "free", place), value } };
      }),
    };
  });
}

/** Refuses a step of `prefer` that no cell meets: it would order nothing, and nobody would notice. */
function checkPreferences(
  { prefer = [] }: MatrixInput,
  { axes, include }: Pick<Matrix, "axes" | "include">,
  source: YamlSource,
  problems: Problem[],
): void {
  for (const [index, step] of prefer.entries()) {
    const equals = step.indexOf("=");
    if (equals < 0) continue;
    const [name, label] = [step.slice(0, equals), step.slice(equals + 1)];
    const report = (message: string, fix: string) =>
      problems.push(valueProblem(message, fix, source.placeOf(["prefer", index])));
    const axis = axes.find((known) => known.name === name);
    if (axis === undefined) {
      const fix = `the axes are ${axes.map((known) => known.name).join(", ")}`;
      report(`prefer names an unknown axis ${JSON.stringify(name)}`, fix);
      continue;
    }
    const labels = allValues({ axes, include }).flatMap(([axisName, value]) =>
      axisName === name ? value.label : [],
    );
    if (!labels.includes(label) && label !== none)
      report(`prefer names ${step}, which no cell has`, `${name} has ${[...new Set(labels)].join(", ")}`);
  }
}

function checkReferences(input: MatrixInput, source: YamlSource, problems: Problem[]): void {
  const repository = repositoryBelow(input.registry, input.name);
  problems.push(...referenceProblems(repository, source.placeOf(["registry"])));
  problems.push(...baseProblems(input.base, source, ["base"]));
  for (const [ref, used] of Object.entries(input.replaceBases ?? {})) {
    const path = ["replaceBases", ref];
    problems.push(...referenceProblems(ref, source.placeOfKey(path)));
    problems.push(...referenceProblems(used, source.placeOf(path)));
  }
  const { sbom } = input.attest ?? {};
  if (typeof sbom === "object")
    problems.push(...referenceProblems(sbom.generator, source.placeOf(["attest", "sbom", "generator"])));
}

function namesOf(
  { channels = {}, variants = [] }: MatrixInput,
  source: YamlSource,
): Pick<Matrix, "channels" | "variants"> {
  const selections = Object.entries(channels).map(([name, only]) => {
    return [name, { value: listOf(only), at: source.placeOfKey(["channels", name]) }] as const;
  });
  return {
    channels: Object.fromEntries(selections),
    variants: variants.map((value, index) => ({ value, at: source.placeOf(["variants", index]) })),
  };
}

function attestationsOf(
  { attest: { provenance = "false", sbom = "false" } = {} }: MatrixInput,
  source: YamlSource,
): Located<Attestations> | null {
  if (provenance === "false" && sbom === "false") return null;
  const generator = typeof sbom === "string" ? null : sbom.generator;
  return {
    value: {
      provenance: provenance === "false" ? null : provenance,
      sbom: sbom === "false" ? null : { generator },
    },
    at: source.placeOfKey(["attest"]),
  };
}

/** `registry.example.com/team/` and `app` → `registry.example.com/team/app`. */
export function repositoryBelow(registry: string, name: string): string {
  return `${registry.replace(/(?<!\/)\/+$/, "")}/${name}`;
}

/** Sorts by the place in the file. */
function inOrder(problems: readonly Problem[]): Problem[] {
  return [...problems].sort(
    ({ at: one }, { at: other }) =>
      (one?.line ?? 0) - (other?.line ?? 0) || (one?.column ?? 0) - (other?.column ?? 0),
  );
}
