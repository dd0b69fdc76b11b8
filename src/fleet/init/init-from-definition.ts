/** `imgmatch init --from` a bake file or a workflow: writes the matrix of its builds, and compares each build with its cell. */

import { basename, dirname, join, relative } from "node:path";
import { setImmediate } from "node:timers/promises";
import { ImgmatchError, type Problem, usageError } from "../../errors.ts";
import { marchPlatforms } from "../../hardware/march-platforms.ts";
import { placeholdersIn } from "../dockerfile/written-secrets.ts";
import { isPlaceholder } from "../matrix/secret-names.ts";
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
import { definitionText, marked } from "./definition-text.ts";
import { deriveMatrix } from "./derive-matrix.ts";
import { matrixFile, permitted, refuseExisting } from "./new-fleet.ts";
import { normalBuilds } from "./normal-builds.ts";
import { checkCount, type OriginalBuild } from "./original-build.ts";
import { readDefinition } from "./read-definition.ts";
import type { RowsOptions } from "./read-rows.ts";
import { argumentsOf, readDockerfile } from "./reading.ts";
import { leadsOut, repositoryOf } from "./repository.ts";
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
  /** The matrix to write, from `folder`. Default: `matrix.yaml`. */
  readonly to?: string | undefined;
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
  const { files, to = matrixFile, env, signal, rows } = options;
  refuseExisting(folder, [to]);
  const { builds: read, notes } = await readDefinition(files, { folder, env, signal, rows });
  checkCount(files.join(", "), read.length);
  const path = join(folder, to);
  const home = dirname(path);
  const repository = repositoryOf(folder);
  const all = read.map((build) => seenFrom(home, folder, withinRepository(build, folder, repository)));
  const dockerfileOf = await readDockerfiles(home, all, repository);
  const normal = normalBuilds(all, dockerfileOf);
  const { environment } = normal;
  const attempts = new Map<readonly OriginalBuild[], Promise<Attempt>>();
  const attemptOf = (builds: readonly OriginalBuild[]) =>
    remember(attempts, builds, () => bestAttempt(builds, path, dockerfileOf, { ...options, environment }));
  const compared = normal.builds.map((build) => ({ build, obstacle: obstacleOf(build, dockerfileOf) }));
  const possible = compared.flatMap(({ build, obstacle }) => (obstacle === null ? [build] : []));
  const { good, faulty } = await plannable(possible, attemptOf);
  // If all are faulty, the matrix of all shows the mistakes with their places.
  const builds = good.length > 0 ? good : possible;
  const others = compared.flatMap(({ build, obstacle }) => {
    const fault = obstacle ?? (good.length > 0 ? faulty.get(build) : null) ?? null;
    return fault === null ? [] : [unlike(build, fault)];
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
    written: isWritten ? [to] : [],
    builds: answered,
    notes: [...notes, ...normal.notes, ...best.notes, ...runNotes(builds), ...twinNotes(best.builds)],
    problems: best.problems,
  };
}

/** With a reason for a build of files outside of the repository, which are not read for it. */
function withinRepository(build: OriginalBuild, folder: string, repository: string): OriginalBuild {
  const paths = [build.dockerfile, build.context, ...Object.values(build.contexts)];
  const outside = paths.find((each) => leadsOut(repository, join(folder, each)));
  if (build.elsewhere || outside === undefined) return build;
  return { ...build, elsewhere: `${outside} is outside of this repository` };
}

/** The build with the paths that the matrix has for it. */
function seenFrom(home: string, folder: string, build: OriginalBuild): OriginalBuild {
  if (home === folder || build.elsewhere) return build;
  const own = (path: string) => relative(home, join(folder, path)).replaceAll("\\", "/") || ".";
  const contexts = Object.entries(build.contexts).map(([name, path]) => [name, own(path)]);
  return {
    ...build,
    dockerfile: own(build.dockerfile),
    context: own(build.context),
    contexts: Object.fromEntries(contexts),
  };
}

/** Lets Ctrl-C through between two computations. */
async function heedInterrupt(signal: AbortSignal | undefined): Promise<void> {
  await setImmediate();
  signal?.throwIfAborted();
}

interface Attempt extends Omit<InitFromDefinition, "written"> {
  readonly yaml: string;
}

interface AttemptOptions extends DefinitionOptions {
  /** Argument → the variable that has its text in a run. */
  readonly environment: ReadonlyMap<string, string>;
}

/** Prefers templates of the axes, unless the plain texts make more builds equal. */
async function bestAttempt(
  builds: readonly OriginalBuild[],
  path: string,
  dockerfileOf: DockerfileOf,
  options: AttemptOptions,
): Promise<Attempt> {
  await heedInterrupt(options.signal);
  const notSecret = placeholders(builds, dockerfileOf);
  const textOf = (matrix: DerivedMatrix) => definitionText(matrix, { ...options, notSecret });
  const attempts = await Promise.all(
    [true, false].map(async (templates): Promise<Attempt> => {
      const derived = (forFile: boolean) => deriveMatrix(builds, { dockerfileOf, templates, forFile });
      const { matrix, notes } = derived(false);
      const answer = await comparison(textOf(matrix), path, builds, dockerfileOf);
      return {
        yaml: textOf(derived(true).matrix),
        notes: [...notes, ...notSecret.map(permitted)],
        ...answer,
      };
    }),
  );
  const equal = ({ builds: each, problems }: Attempt) =>
    problems.length > 0 ? -1 : each.filter((build) => build.equal).length;
  return attempts.reduce((one, other) => (equal(other) > equal(one) ? other : one));
}

/** Names like secrets' whose texts say that they are none, in arguments and Dockerfiles. */
function placeholders(builds: readonly OriginalBuild[], dockerfileOf: DockerfileOf): readonly string[] {
  const given = builds.flatMap(({ args }) => Object.entries(args));
  const files = [...new Set(builds.map(({ dockerfile }) => dockerfile))];
  const names = [
    ...given.flatMap(([name, value]) => (isPlaceholder(name, value) ? [name] : [])),
    ...files.flatMap((file) => placeholdersIn(dockerfileOf(file).instructions)),
  ];
  return [...new Set(names)].sort();
}

/**
 * The builds that one matrix can have, and the rest with reasons: a build that cannot be planned, alone or beside earlier builds, spoils none.
 * Adds halves of the builds for as long as they can be planned.
 */
async function plannable(
  builds: readonly OriginalBuild[],
  attemptOf: (builds: readonly OriginalBuild[]) => Promise<Attempt>,
): Promise<{
  readonly good: readonly OriginalBuild[];
  readonly faulty: ReadonlyMap<OriginalBuild, Difference>;
}> {
  const faulty = new Map<OriginalBuild, Difference>();
  let good: readonly OriginalBuild[] = [];
  const add = async (own: readonly OriginalBuild[]): Promise<void> => {
    const [only] = own;
    if (only === undefined) return;
    const all = good.length === 0 ? own : [...good, ...own];
    const { problems } = await attemptOf(all);
    if (problems.length === 0) good = all;
    else if (own.length === 1) {
      const original = problems.map(({ message }) => message).join("; ");
      faulty.set(only, { what: "left", original, cell: null });
    } else {
      const half = Math.ceil(own.length / 2);
      await add(own.slice(0, half));
      await add(own.slice(half));
    }
  };
  await add(builds);
  return { good, faulty };
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
      `${names} of ${count(own.length, "build")}: no matrix has these: give them to imgmatch build as --secret, --ssh, --network or --no-cache`,
  );
}

/** An unreadable file is an empty one: the comparison reports it. */
async function readDockerfiles(
  home: string,
  builds: readonly OriginalBuild[],
  repository: string,
): Promise<DockerfileOf> {
  const found = new Map<string, OriginalDockerfile>();
  for (const path of new Set(builds.map(({ dockerfile }) => dockerfile))) {
    const file = join(home, path);
    if (leadsOut(repository, file)) continue;
    const text = await readTextFile(file, inputLimits.template).catch(() => "");
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
      builds: builds.map((build) => unlike(build, difference)),
      problems: error.problems.map((problem) => ({ ...problem, at: { ...problem.at, file } })),
    };
  }
}

function unlike({ name, left }: OriginalBuild, difference: Difference): ComparedBuild {
  const others = left.map((original): Difference => ({ what: "left", original, cell: null }));
  return { name, cell: null, equal: false, differences: [difference, ...others] };
}
