/** `imgmatch init --from` a bake file or a workflow: writes the matrix of its builds, and compares each build with its cell. */

import { basename, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { Document, isMap, isScalar, isSeq, visit } from "yaml";
import { ImgmatchError, type Problem, usageError } from "../../errors.ts";
import { marchPlatforms } from "../../hardware/march-platforms.ts";
import { groupBy, remember } from "../../io/collections.ts";
import { readTextFile } from "../../io/files.ts";
import { inputLimits } from "../../io/limits.ts";
import { count } from "../../io/table.ts";
import type { Environment } from "../../io/world.ts";
import { writeFileAtomic } from "../../io/write-file.ts";
import { formatToolkit } from "../dockerfile/base-toolkit.ts";
import { parseDockerfile } from "../dockerfile/instructions.ts";
import { type DockerfileOf, type OriginalDockerfile, toldOf } from "./build-hardware.ts";
import { type ComparedBuild, compareBuilds, type Difference } from "./compare-builds.ts";
import { deriveMatrix } from "./derive-matrix.ts";
import { matrixFile, refuseExisting } from "./new-fleet.ts";
import { normalBuilds } from "./normal-builds.ts";
import { checkCount, type OriginalBuild } from "./original-build.ts";
import { readDefinition } from "./read-definition.ts";
import type { RowsOptions } from "./read-rows.ts";
import { argumentsOf, readDockerfile } from "./reading.ts";
import type { DerivedMatrix } from "./settle-columns.ts";

export interface InitFromDefinition {
  readonly written: readonly string[];
  readonly builds: readonly ComparedBuild[];
  readonly notes: readonly string[];
  /** Mistakes of the written matrix: with any, no build is compared. */
  readonly problems: readonly Problem[];
}

interface DefinitionOptions {
  /** As the user named them, from `folder`. */
  readonly files: readonly string[];
  readonly name: string;
  readonly registry: string;
  readonly env: Environment;
  readonly signal?: AbortSignal | undefined;
  readonly rows?: RowsOptions | undefined;
  /** Write a matrix of which no cell is one of the builds. */
  readonly partial?: boolean | undefined;
}

/** Writes the matrix if one build at least is a cell. Throws `FILE_EXISTS`, `USAGE` for files without builds, and the errors of `readDefinition`. */
export async function initFromDefinition(
  folder: string,
  options: DefinitionOptions,
): Promise<InitFromDefinition> {
  const { files, env, signal, rows } = options;
  refuseExisting(folder, [matrixFile]);
  const { builds: all, notes } = await readDefinition(files, { folder, env, signal, rows });
  checkCount(files.join(", "), all.length);
  const dockerfileOf = await readDockerfiles(folder, all);
  const normal = normalBuilds(all, dockerfileOf);
  const path = join(folder, matrixFile);
  const attempts = new Map<readonly OriginalBuild[], Promise<Attempt>>();
  const attemptOf = (builds: readonly OriginalBuild[]) =>
    remember(attempts, builds, () => bestAttempt(builds, path, dockerfileOf, options));
  const compared = normal.builds.map((build) => ({ build, obstacle: obstacleOf(build, dockerfileOf) }));
  const possible = compared.flatMap(({ build, obstacle }) => (obstacle === null ? [build] : []));
  const found = await faultyBuilds(possible, attemptOf);
  // If all are faulty, the matrix of all shows the mistakes with their places.
  const faulty = found.size < possible.length ? found : new Map<OriginalBuild, Difference>();
  const builds = faulty.size === 0 ? possible : possible.filter((build) => !faulty.has(build));
  const others = compared.flatMap(({ build, obstacle }) => {
    const fault = obstacle ?? faulty.get(build) ?? null;
    return fault === null ? [] : [unlike(build.name, fault)];
  });
  if (builds.length === 0)
    throw usageError(
      [
        `${files.join(", ")} builds no image that is known`,
        ...others.map(
          ({ name, differences: [first] }) =>
            `${name}: ${first?.what === "left" ? "" : `${first?.what} `}${first?.original}`,
        ),
        ...notes,
      ].join("; "),
      "name a bake or compose file, or a workflow whose jobs use docker/build-push-action or docker build",
    );
  const best = await attemptOf(builds);
  await heedInterrupt(signal);
  const answered = [...best.builds, ...others];
  const isWritten = options.partial || answered.some(({ equal }) => equal);
  if (isWritten) await writeFileAtomic(path, marked(best.yaml, answered), folder);
  return {
    written: isWritten ? [matrixFile] : [],
    builds: answered,
    notes: [...notes, ...normal.notes, ...best.notes, ...runNotes(builds), ...twinNotes(best.builds)],
    problems: best.problems,
  };
}

/** The most builds that the file itself names. */
const mostNamed = 20;

/** The matrix, with the builds that it does not have yet in a comment. */
function marked(yaml: string, builds: readonly ComparedBuild[]): string {
  const unlike = builds.filter(({ equal }) => !equal);
  if (unlike.length === 0) return yaml;
  const named = unlike.slice(0, mostNamed).map(({ name }) => `#   ${name.replace(/[\s\p{Cc}]+/gu, " ")}`);
  const more = unlike.length > mostNamed ? [`#   and ${unlike.length - mostNamed} more`] : [];
  const head = `# Unfinished: ${count(unlike.length, "build")} of the definition ${unlike.length === 1 ? "is" : "are"} no cell yet:`;
  return `${[head, ...named, ...more].join("\n")}\n${yaml}`;
}

/** Lets Ctrl-C through between two computations. */
async function heedInterrupt(signal: AbortSignal | undefined): Promise<void> {
  await setImmediate();
  signal?.throwIfAborted();
}

interface Attempt extends Omit<InitFromDefinition, "written"> {
  readonly yaml: string;
}

/** Prefers templates of the axes, unless the plain texts make more builds equal. */
async function bestAttempt(
  builds: readonly OriginalBuild[],
  path: string,
  dockerfileOf: DockerfileOf,
  options: DefinitionOptions,
): Promise<Attempt> {
  await heedInterrupt(options.signal);
  const attempts = await Promise.all(
    [true, false].map(async (templates): Promise<Attempt> => {
      const derived = (forFile: boolean) => deriveMatrix(builds, { dockerfileOf, templates, forFile });
      const { matrix, notes } = derived(false);
      const planned = definitionText(matrix, options);
      const answer = await comparison(planned, path, builds, dockerfileOf);
      return { yaml: definitionText(derived(true).matrix, options), notes, ...answer };
    }),
  );
  const equal = ({ builds: each, problems }: Attempt) =>
    problems.length > 0 ? -1 : each.filter((build) => build.equal).length;
  return attempts.reduce((one, other) => (equal(other) > equal(one) ? other : one));
}

/** Finds the builds that no matrix can have, with reasons: a faulty build spoils no other build. Halves the builds until none is left. */
async function faultyBuilds(
  builds: readonly OriginalBuild[],
  attemptOf: (builds: readonly OriginalBuild[]) => Promise<Attempt>,
): Promise<ReadonlyMap<OriginalBuild, Difference>> {
  const [only] = builds;
  if (only === undefined) return new Map();
  const { problems } = await attemptOf(builds);
  if (problems.length === 0) return new Map();
  if (builds.length === 1) {
    const original = problems.map(({ message }) => message).join("; ");
    return new Map([[only, { what: "left", original, cell: null }]]);
  }
  const half = Math.ceil(builds.length / 2);
  const first = await faultyBuilds(builds.slice(0, half), attemptOf);
  return new Map([...first, ...(await faultyBuilds(builds.slice(half), attemptOf))]);
}

/** Names the cells that are several builds. */
function twinNotes(builds: readonly ComparedBuild[]): readonly string[] {
  const equal = builds.filter((build) => build.equal);
  const byCell = groupBy(equal, ({ cell }) => cell ?? "");
  return [...byCell].flatMap(([cell, own]) =>
    own.length < 2 ? [] : [`${own.map(({ name }) => name).join(" and ")} are one cell: ${cell}`],
  );
}

/** Why no cell can be this build: it is left out of the matrix. */
function obstacleOf(build: OriginalBuild, dockerfileOf: DockerfileOf): Difference | null {
  const { platform, elsewhere = null } = build;
  if (elsewhere !== null) return { what: "left", original: elsewhere, cell: null };
  if (platform !== null && !marchPlatforms.includes(platform))
    return { what: "platform", original: platform, cell: null };
  const { unknown } = toldOf(build, dockerfileOf(build.dockerfile));
  return unknown && { what: "accelerator", original: formatToolkit(unknown), cell: null };
}

/** Names the settings that the user has to repeat. */
function runNotes(builds: readonly OriginalBuild[]): readonly string[] {
  const withSettings = builds.filter(({ ofRun }) => ofRun.length > 0);
  const bySettings = groupBy(withSettings, ({ ofRun }) => ofRun.join(", "));
  return [...bySettings].map(
    ([names, own]) =>
      `${names} of ${count(own.length, "build")}: no matrix has them, so give imgmatch build --secret, --ssh, --network or --no-cache where it needs them`,
  );
}

/** An unreadable file is an empty one: the comparison reports it. */
async function readDockerfiles(folder: string, builds: readonly OriginalBuild[]): Promise<DockerfileOf> {
  const found = new Map<string, OriginalDockerfile>();
  for (const path of new Set(builds.map(({ dockerfile }) => dockerfile))) {
    const text = await readTextFile(join(folder, path), inputLimits.template).catch(() => "");
    const defaults = new Map<string, string | null>();
    for (const { name, value } of argumentsOf(readDockerfile(text).placed))
      defaults.set(name, defaults.get(name) ?? value);
    found.set(path, { instructions: parseDockerfile(text), defaults });
  }
  return (path) => found.get(path) ?? { instructions: parseDockerfile(""), defaults: new Map() };
}

async function comparison(
  yaml: string,
  path: string,
  builds: readonly OriginalBuild[],
  dockerfileOf: DockerfileOf,
): Promise<Pick<InitFromDefinition, "builds" | "problems">> {
  try {
    return { builds: await compareBuilds(yaml, path, builds, dockerfileOf), problems: [] };
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    const reason = error.problems.map(({ message }) => message).join("; ");
    const difference = { what: "left", original: `the matrix cannot be planned: ${reason}`, cell: null };
    const file = basename(path);
    return {
      builds: builds.map(({ name }) => unlike(name, difference)),
      problems: error.problems.map((problem) => ({ ...problem, at: { ...problem.at, file } })),
    };
  }
}

function unlike(name: string, difference: Difference): ComparedBuild {
  return { name, cell: null, equal: false, differences: [difference] };
}

/** The longest value that is written on one line. */
const width = 140;

function definitionText(matrix: DerivedMatrix, { files, name, registry }: DefinitionOptions): string {
  const { template, context, contexts, target, runner, args = {}, axes, values, exclude } = matrix;
  const given = {
    name,
    version: "0.1.0",
    registry,
    ...{ template, context, contexts, target, runner },
    ...(Object.keys(args).length > 0 && { args }),
    axes,
    ...(Object.keys(values).length > 0 && { values }),
    ...(exclude.length > 0 && { exclude }),
  };
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  const document = new Document(Object.fromEntries(entries));
  document.commentBefore = ` yaml-language-server: $schema=./node_modules/imgmatch/dist/matrix.schema.json\n From ${files.join(", ")}, by imgmatch init.`;
  visit(document, (_, node, path) => {
    // Each value, case and rule gets one line if it fits.
    if ((isMap(node) || isSeq(node)) && path.length > 4 && JSON.stringify(node).length < width)
      node.flow = true;
    // Versions are text: to YAML, 12.10 is a number.
    if (
      isScalar(node) &&
      typeof node.value === "string" &&
      path.at(-1) !== undefined &&
      !/^[A-Za-z./][\w./:-]*$/.test(node.value)
    )
      node.type = "QUOTE_DOUBLE";
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}
