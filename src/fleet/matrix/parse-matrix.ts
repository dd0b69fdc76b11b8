/** Stage 1: YAML → checked matrix. Every mistake is found before anything is thrown, each with its place. */

import { type Place, type Problem, throwProblems } from "../../errors.ts";
import { checkAxisName, checkIsFree, checkLabels } from "./value-labels.ts";
import { parseIncludes } from "./include.ts";
import type {
  Attestations,
  Axis,
  Bases,
  Case,
  Exclusion,
  Located,
  Matrix,
  NamedText,
  NamedValue,
} from "./matrix.ts";
import { baseProblems, mistake, referenceProblems, unsafeTextProblems } from "./unsafe-text.ts";
import { type MatrixInput, matrixSchema, valueSchemas } from "./matrix-schema.ts";
import { findParents } from "./parents.ts";
import { schemaProblems } from "./schema-problems.ts";
import { secretProblems } from "./secret-names.ts";
import {
  none,
  parseCompiler,
  parseComputeValue,
  parseCudaValue,
  type Parsed,
  parseFreeValue,
  parseMarchValue,
  parseMatch,
  parsePlatformValue,
  parseVersion,
  valueProblem,
} from "./values.ts";
import { broughtBy, broughtProblems, parseBases, parseRunner } from "./settings.ts";
import type { YamlPath } from "../../io/yaml/yaml-places.ts";
import { parseYamlSource, type YamlSource } from "../../io/yaml/yaml-source.ts";
import { marchesOn, marchPlatform } from "../../hardware/cpu-marches.ts";
import { digestOf } from "../../oci/digest-of.ts";
import { isRecord } from "../../io/json.ts";

export const defaultTag = "{{version}}-{{cell}}-{{inputs}}";

/**
 * Reads a matrix. `file` is the name for messages; paths in the result stay relative to it.
 *
 * Throws `ImgmatchError` with every mistake, each with `file:line:column`.
 *
 * @example
 * const matrix = parseMatrix(await readFile("matrix.yaml", "utf8"), "matrix.yaml");
 */
export function parseMatrix(text: string, file: string): Matrix {
  const { source, problems: syntax } = parseYamlSource(text, file);
  if (source.data === null) throwProblems(inOrder(syntax));
  const problems: Problem[] = [...syntax, ...unsafeTextProblems(source)];
  const checked = matrixSchema.safeParse(source.data, { reportInput: true });
  if (!checked.success) {
    problems.push(...schemaProblems(checked.error.issues, source));
    // What has the right shape is looked into all the same, so that one run names every mistake.
    parseAxes({ axes: wellFormedAxes(source.data) }, source, problems);
    throwProblems(inOrder(problems));
    throw checked.error;
  }
  const input = checked.data;
  const axes = parseAxes(input, source, problems);
  const values = parseNamedTexts(input, axes, source, problems);
  const exclude = parseExclusions(input, axes, source, problems);
  const include = parseIncludes(input, axes, source, problems);
  checkPreferences(input, { axes, include }, source, problems);
  checkReferences(input, source, problems);
  checkLabels(input, source, problems);
  problems.push(...secretProblems(input.args, source));
  const version = parseVersion(input.version, source, problems);
  throwProblems(inOrder(problems));
  const located = (value: string, key: string) => ({ value, at: source.placeOf([key]) });
  return {
    file,
    digest: digestOf(text.replaceAll("\r\n", "\n")),
    name: input.name,
    ...version,
    repository: repositoryOf(input),
    source: input.source ?? null,
    template: located(input.template, "template"),
    context: input.context === undefined ? null : located(input.context, "context"),
    tag: located(input.tag ?? defaultTag, "tag"),
    ...namesOf(input, source),
    target: input.target === undefined ? null : located(input.target, "target"),
    args: locatedTexts("args", input.args, source),
    ...machineOf(input, source),
    labels: input.labels ?? {},
    base: locatedBases(input, source),
    parents: findParents(source),
    replaceBases: locatedTexts("replaceBases", input.replaceBases, source),
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

function parseAxes(input: Pick<MatrixInput, "axes">, source: YamlSource, problems: Problem[]): Axis[] {
  const axes: Axis[] = [];
  // Hardware axes first, whatever the order of the file: to move a line changes no cell's name.
  for (const name of new Set(["cuda", "compute", "platform", "march", ...Object.keys(input.axes)])) {
    const given = input.axes[name];
    if (given === undefined) continue;
    const at = source.placeOfKey(["axes", name]);
    const isList = Array.isArray(given);
    const inputs: readonly unknown[] = isList ? given : given.values;
    const above = ["axes", name, ...(isList ? [] : ["values"])];
    for (const [index, value] of inputs.entries())
      problems.push(...broughtProblems(value, kindOf(name), source, [...above, index]));
    const valuesOf = <Input, Value extends { label: string; at: Place }>(
      parse: (value: Input, place: Place, below: (path: YamlPath) => Place) => Parsed<Value>,
    ) => collect(inputs as Input[], parse, (path) => source.placeOf([...above, ...path]), name, problems);
    if (name === "cuda") axes.push({ kind: "cuda", name, at, values: valuesOf(parseCudaValue) });
    else if (name === "compute")
      axes.push({ kind: "compute", name, at, values: valuesOf(parseComputeValue) });
    else if (name === "platform")
      axes.push({ kind: "platform", name, at, values: valuesOf(parsePlatformValue) });
    else if (name === "march") axes.push({ kind: "march", name, at, values: valuesOf(parseMarchValue) });
    else {
      checkAxisName(name, at, problems);
      const values = valuesOf(parseFreeValue);
      if (isList || given.free !== "true") checkIsFree(name, values, at, problems);
      axes.push({ kind: "free", name, at, values });
    }
  }
  checkGpuAxes(axes, source, problems);
  checkPlatforms(axes, problems);
  if (axes.length === 0 && problems.length === 0) {
    const fix = "add one, for example march: [x86-64-v3]";
    problems.push(mistake("the matrix has no axis", fix, source.placeOfKey(["axes"])));
  }
  return axes;
}

function collect<Input, Value extends { label: string; at: Place }>(
  inputs: readonly Input[],
  parse: (input: Input, at: Place, below: (path: YamlPath) => Place) => Parsed<Value>,
  placeAt: (path: YamlPath) => Place,
  axis: string,
  problems: Problem[],
): Value[] {
  const byLabel = new Map<string, Value>();
  for (const [index, input] of inputs.entries()) {
    if (input === undefined) continue;
    // For each, the nearest known word is looked for.
    if (problems.length > enoughProblems) break;
    const parsed = parse(input, placeAt([index]), (path) => placeAt([index, ...path]));
    if ("problems" in parsed) {
      problems.push(...parsed.problems);
      continue;
    }
    const twin = byLabel.get(parsed.value.label);
    if (twin === undefined) byLabel.set(parsed.value.label, parsed.value);
    else {
      problems.push({
        code: "MATRIX_DUPLICATE",
        message: `${axis} ${JSON.stringify(parsed.value.label)} stands twice, first in line ${twin.at.line}`,
        fix: "remove one, or give one another label",
        at: parsed.value.at,
      });
    }
  }
  return [...byLabel.values()];
}

/** Not all of them are listed. */
const enoughProblems = 200;

/** CUDA code without targets, or targets without a toolkit, can never be matched to a GPU. */
function checkGpuAxes(axes: readonly Axis[], source: YamlSource, problems: Problem[]): void {
  const cuda = axes.find(({ kind }) => kind === "cuda");
  const compute = axes.find(({ kind }) => kind === "compute");
  const hasToolkit = cuda?.kind === "cuda" && cuda.values.some(({ toolkit }) => toolkit !== null);
  if (hasToolkit && compute === undefined) {
    const fix = "add axes.compute with the compute capabilities to compile for";
    problems.push(mistake("axis cuda needs axis compute", fix, source.placeOfKey(["axes", "cuda"])));
  }
  if (compute !== undefined && cuda === undefined) {
    const fix = "add axes.cuda with the toolkits";
    problems.push(mistake("axis compute needs axis cuda", fix, compute.at));
  }
}

/** A platform without a march, or a march without its platform, would make no cell, and nobody would notice. */
function checkPlatforms(axes: readonly Axis[], problems: Problem[]): void {
  const platforms = axes.find((axis) => axis.kind === "platform");
  const marches = axes.find((axis) => axis.kind === "march");
  if (platforms?.kind !== "platform" || marches?.kind !== "march") return;
  const [listed, reached] = [
    platforms.values.map(({ label }) => label),
    marches.values.map(({ march }) => marchPlatform(march)),
  ];
  for (const { label, at } of platforms.values) {
    if (reached.some((platform) => platform === label)) continue;
    const [lowest] = marchesOn(label);
    const fix = `add one to axes.march, such as ${lowest?.name}, or remove the platform`;
    problems.push(valueProblem(`no march of the matrix is for ${label}`, fix, at));
  }
  for (const { label, march, at } of marches.values) {
    const platform = marchPlatform(march);
    if (listed.includes(platform)) continue;
    const fix = `add ${platform} to axes.platform, or remove the march`;
    problems.push(
      valueProblem(`march ${label} is for ${platform}, which axis platform does not have`, fix, at),
    );
  }
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
    return { at, reason, match: parseMatch(patterns as Record<string, string | string[]>) };
  });
}

/** Of an `exclude` or a `when`. */
function unknownAxes(
  what: string,
  names: readonly string[],
  axes: readonly Pick<Axis, "name">[],
  source: YamlSource,
  path: YamlPath,
): Problem[] {
  const known = new Set([...axes.map(({ name }) => name), "platform"]);
  return names
    .filter((axis) => !known.has(axis))
    .map((axis) => {
      const message = `${what} names an unknown axis ${JSON.stringify(axis)}`;
      return valueProblem(
        message,
        `the axes are ${[...known].join(", ")}`,
        source.placeOfKey([...path, axis]),
      );
    });
}

/** `values:`, and the axes that their cases and compute's name. */
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
    if (["cuda", "compute", "platform", "march", ...axes.map((axis) => axis.name)].includes(name))
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

/** A step that no cell meets would order nothing, and nobody would notice. */
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
    const labels = [...axis.values, ...include.flatMap(({ values }) => values[name] ?? [])].map(
      (value) => value.label,
    );
    if (!labels.includes(label) && label !== none)
      report(`prefer names ${step}, which no cell has`, `${name} has ${[...new Set(labels)].join(", ")}`);
  }
}

function checkReferences(input: MatrixInput, source: YamlSource, problems: Problem[]): void {
  problems.push(...referenceProblems(repositoryOf(input), source.placeOf(["registry"])));
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

function locatedBases({ base }: MatrixInput, source: YamlSource): Located<Bases> | null {
  const value = parseBases(base);
  return value === null ? null : { value, at: source.placeOf(["base"]) };
}

function machineOf({ runner, timeout, freeDisk }: MatrixInput, source: YamlSource) {
  const located = <Value>(value: Value, key: string) => ({ value, at: source.placeOf([key]) });
  return {
    runner: runner === undefined ? null : located(parseRunner(runner), "runner"),
    timeoutMinutes: timeout === undefined ? null : located(Number(timeout), "timeout"),
    freeDisk: freeDisk === undefined ? null : located(freeDisk === "true", "freeDisk"),
  };
}

function namesOf(
  { channels = {}, variants = [] }: MatrixInput,
  source: YamlSource,
): Pick<Matrix, "channels" | "variants"> {
  const selections = Object.entries(channels).map(([name, only]) => {
    const value = typeof only === "string" ? [only] : only;
    return [name, { value, at: source.placeOfKey(["channels", name]) }] as const;
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

function locatedTexts(
  key: string,
  texts: Readonly<Record<string, string>> = {},
  source: YamlSource,
): Readonly<Record<string, Located<string>>> {
  const entries = Object.entries(texts);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, { value, at: source.placeOf([key, name]) }]),
  );
}

function repositoryOf({ registry, name }: MatrixInput): string {
  return `${registry.replace(/(?<!\/)\/+$/, "")}/${name}`;
}

function kindOf(axis: string): keyof typeof valueSchemas {
  return Object.hasOwn(valueSchemas, axis) ? (axis as keyof typeof valueSchemas) : "free";
}

/** The values of a matrix of the wrong shape that have the right one themselves; the others are holes. */
function wellFormedAxes(data: unknown): MatrixInput["axes"] {
  const axes: Record<string, unknown> = {};
  const found = isRecord(data) && isRecord(data.axes) ? data.axes : {};
  for (const [name, given] of Object.entries(found)) {
    const schema = valueSchemas[kindOf(name)];
    const wellFormed = (values: readonly unknown[]) => values.map((value) => schema.safeParse(value).data);
    if (Array.isArray(given)) axes[name] = wellFormed(given);
    else if (isRecord(given) && Array.isArray(given.values))
      axes[name] = { ...given, values: wellFormed(given.values) };
  }
  return axes as MatrixInput["axes"];
}

/** In the order of the file, as its author reads it. */
function inOrder(problems: readonly Problem[]): Problem[] {
  return [...problems].sort(
    ({ at: one }, { at: other }) =>
      (one?.line ?? 0) - (other?.line ?? 0) || (one?.column ?? 0) - (other?.column ?? 0),
  );
}
