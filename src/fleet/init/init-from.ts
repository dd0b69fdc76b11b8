/** `imgmatch init --from Dockerfile`: writes a matrix for the Dockerfile, and finds the lines of it to change. */

import { join, relative, resolve } from "node:path";
import { ImgmatchError } from "../../errors.ts";
import { openFleet } from "../open/open-fleet.ts";
import { planFleet } from "../open/plan-fleet.ts";
import type { HostFacts } from "../../host/facts.ts";
import { inputLimits } from "../../io/limits.ts";
import { readExactText } from "../../io/files.ts";
import { writeFileAtomic } from "../../io/write-file.ts";
import { findCompiler, findCuda, findPython } from "./vary-bases.ts";
import { applyEdits, type Draft, draftOf, type Edit, editsOf } from "./draft.ts";
import { type Assignments, readMakefiles } from "./makefiles.ts";
import { matrixFile, refuseExisting } from "./new-fleet.ts";
import { lowestMarches, proposeComputes, proposeMarches } from "./propose-axes.ts";
import { argumentsOf, readDockerfile, type Reading } from "./reading.ts";
import { varyGpu } from "./vary-gpu.ts";
import { type ArgumentTemplates, varyMarch } from "./vary-march.ts";
import type { Compiler } from "../matrix/matrix.ts";

interface InitFromOptions {
  /** As the user named it, from `folder`. */
  readonly dockerfile: string;
  /** The machines to build for. */
  readonly hosts: readonly HostFacts[];
  readonly name: string;
  readonly registry: string;
}

export interface InitFrom {
  readonly written: readonly string[];
  /** The number of cells that can be built. */
  readonly cells: number;
  readonly template: string;
  readonly edits: readonly Edit[];
  /** Notes about the Dockerfile, for people. */
  readonly notes: readonly string[];
}

/**
 * Writes `matrix.yaml` into `folder` and leaves the Dockerfile alone. Plans the fleet with the edits first, so that they are known to work.
 * Throws `FILE_EXISTS`, `FILE_NOT_FOUND`, and errors of planning for a Dockerfile that no matrix could use.
 */
export async function initFrom(folder: string, options: InitFromOptions): Promise<InitFrom> {
  const { dockerfile, hosts, name, registry } = options;
  refuseExisting(folder, [matrixFile]);
  const path = resolve(folder, dockerfile);
  const text = await readExactText(path, inputLimits.template, { shown: dockerfile });
  const reading = readDockerfile(text);
  const draft = draftOf(text);
  const template = relative(folder, path).replaceAll("\\", "/");
  const makefiles = await readMakefiles(folder, contextsOf(template), reading);
  const proposed = propose(reading, draft, hosts, makefiles);
  const edits = editsOf(draft);
  const matrixOf = (context: string) => ({ ...proposed.matrix, name, registry, template, context });
  const edited = applyEdits(text, edits);
  const { yaml, cells } = await firstThatPlans(folder, contextsOf(template), matrixOf, edited);
  await writeFileAtomic(join(folder, matrixFile), yaml, folder);
  return { written: [matrixFile], cells, template, edits, notes: proposed.notes };
}

function propose(
  reading: Reading,
  draft: Draft,
  hosts: readonly HostFacts[],
  makefiles: Assignments,
): {
  readonly matrix: Pick<ProposedMatrix, "args" | "compiler" | "marches" | "cuda" | "pythons">;
  readonly notes: readonly string[];
} {
  const compiler = findCompiler(reading);
  const { args: marchArgs, notes: ofMakefiles } = varyMarch(reading, draft, makefiles);
  const notes = [...ofMakefiles];
  const toolkit = findCuda(reading);
  const gpu = toolkit === null ? { args: {}, named: [] } : varyGpu(reading, draft);
  const marches = proposeMarches(hosts, compiler);
  const computes = toolkit === null ? [] : proposeComputes(hosts, gpu.named, toolkit);
  const python = findPython(reading);
  const varies = Object.keys(marchArgs).length > 0;
  if (!varies)
    notes.push(
      "no step is known that compiles: the matrix has one march, and the images' own code decides what it needs",
    );
  if (hosts.every(({ cpu }) => cpu.features === null))
    notes.push("the CPU of no host is known: the marches are levels that most machines have");
  for (const argument of withoutValue(reading, { ...marchArgs, ...gpu.args }))
    notes.push(`ARG ${argument} has no value: give it one in args of the matrix where a step needs it`);
  // The lowest march is for a plain pull, which needs an image that starts on every machine. With CUDA a plain pull gets no image: no runtime
  // chooses by GPU. If no step compiles, there is only the lowest march, as further ones would give one image several names.
  const lowest = varies && toolkit !== null ? [] : lowestMarches(hosts);
  const variesGpu = Object.keys(gpu.args).length > 0;
  return {
    notes,
    matrix: {
      args: { ...marchArgs, ...gpu.args, ...(python && { [python.argument]: "{{axes.python}}" }) },
      compiler,
      marches: [...new Set([...lowest, ...(varies ? marches : [])])],
      cuda: toolkit && { toolkit: toolkit.release, computes: variesGpu ? computes : [computes] },
      pythons: python === null ? [] : [python.version],
    },
  };
}

/** Arguments that have neither a default nor a value in the matrix. */
function withoutValue({ placed }: Reading, given: Readonly<Record<string, string>>): readonly string[] {
  const all = argumentsOf(placed);
  const valued = new Set([
    ...all.flatMap(({ name, value }) => (value === null ? [] : [name])),
    ...Object.keys(given),
  ]);
  const names = new Set(all.map(({ name }) => name).filter((name) => !valued.has(name)));
  return [...names].filter((name) => !/^(TARGET|BUILD)(PLATFORM|OS|ARCH|VARIANT)$|_proxy$/i.test(name));
}

/** Possible contexts: the Dockerfile's folder, and that of the matrix, as in `docker build -f docker/Dockerfile .`. */
function contextsOf(template: string): readonly string[] {
  return template.includes("/") ? [template.slice(0, template.lastIndexOf("/")), "."] : ["."];
}

/** Plans with the first context that has all files that the Dockerfile copies. If none has, throws the error of the last. */
async function firstThatPlans(
  folder: string,
  [context, ...others]: readonly string[],
  matrixOf: (context: string) => ProposedMatrix,
  templateText: string,
): Promise<{ readonly yaml: string; readonly cells: number }> {
  const yaml = matrixText(matrixOf(context ?? "."));
  try {
    const fleet = await openFleet(join(folder, matrixFile), { text: yaml, templateText });
    const { cells } = await planFleet(fleet, { lock: null });
    return { yaml, cells: cells.filter(({ action }) => action === "build").length };
  } catch (error) {
    const isElsewhere = error instanceof ImgmatchError && error.code === "CONTEXT_NOT_FOUND";
    if (!isElsewhere || others.length === 0) throw error;
    return firstThatPlans(folder, others, matrixOf, templateText);
  }
}

interface ProposedMatrix {
  readonly name: string;
  readonly registry: string;
  /** Paths from the matrix. */
  readonly template: string;
  readonly context: string;
  readonly args: ArgumentTemplates;
  readonly compiler: Compiler | null;
  readonly marches: readonly string[];
  /** null without CUDA. */
  readonly cuda: {
    readonly toolkit: string;
    readonly computes: readonly (string | readonly string[])[];
  } | null;
  readonly pythons: readonly string[];
}

/** The matrix of a Dockerfile. */
function matrixText(proposed: ProposedMatrix): string {
  const { name, registry, template, context, args, compiler, marches, cuda, pythons } = proposed;
  const folder = template.includes("/") ? template.slice(0, template.lastIndexOf("/")) : ".";
  const lines = [
    "# yaml-language-server: $schema=./node_modules/imgmatch/dist/matrix.schema.json",
    `name: ${text(name)}`,
    'version: "0.1.0"',
    `registry: ${text(registry)}`,
    `template: ${text(template)} # used as it stands`,
    ...(context === folder ? [] : [`context: ${text(context)}`]),
    ...(Object.keys(args).length === 0
      ? []
      : ["# What a build is given for the ARGs of that name; each is a template.", "args:"]),
    ...Object.entries(args).map(([key, value]) => `  ${key}: ${JSON.stringify(value)}`),
    ...(compiler === null
      ? []
      : [
          `compiler: ${compiler.family} ${compiler.version} # of the base image: a march that it does not know is not built`,
        ]),
    "",
    "axes:",
    ...(cuda === null
      ? []
      : [
          `  cuda: [{ toolkit: ${text(cuda.toolkit)}, driver: { mode: host } }]`,
          `  compute: [${cuda.computes.map((each) => (typeof each === "string" ? text(each) : list(each))).join(", ")}]`,
        ]),
    `  march: ${list(marches)}`,
    ...(pythons.length === 0 ? [] : [`  python: ${list(pythons)}`]),
  ];
  return `${lines.join("\n")}\n`;
}

function list(values: readonly string[]): string {
  return `[${values.map(text).join(", ")}]`;
}

/** Quotes a text that some reader of YAML could take for something else. */
function text(value: string): string {
  return /^[A-Za-z][\w./:-]*$/.test(value) &&
    !/^(true|false|null|yes|no|on|off|y|n)$/i.test(value) &&
    !value.endsWith(":")
    ? value
    : JSON.stringify(value);
}
