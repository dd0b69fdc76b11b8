/** `imgmatch init --from` a bake file or a workflow: writes the matrix of its builds, and compares each build with its cell. */

import { basename, extname, join } from "node:path";
import { Document, isMap, isScalar, isSeq, visit } from "yaml";
import { ImgmatchError, type Problem, usageError } from "../../errors.ts";
import { marchPlatforms } from "../../hardware/march-platforms.ts";
import { readTextFile } from "../../io/files.ts";
import { inputLimits } from "../../io/limits.ts";
import { writeFileAtomic } from "../../io/write-file.ts";
import { type ComparedBuild, compareBuilds, type Difference } from "./compare-builds.ts";
import type { Defaults } from "./build-hardware.ts";
import { deriveMatrix } from "./derive-matrix.ts";
import { matrixFile, refuseExisting } from "./new-fleet.ts";
import type { OriginalBuild } from "./original-build.ts";
import { readBake } from "./read-bake.ts";
import { argumentsOf, readDockerfile } from "./reading.ts";
import { readWorkflow } from "./read-workflow.ts";
import type { DerivedMatrix } from "./settle-columns.ts";
import type { Environment } from "../../io/world.ts";

export interface InitFromDefinition {
  readonly written: readonly string[];
  readonly builds: readonly ComparedBuild[];
  readonly notes: readonly string[];
  /** Mistakes of the written matrix: with any, no build is compared. */
  readonly problems: readonly Problem[];
}

interface DefinitionOptions {
  /** As the user named it, from `folder`. */
  readonly file: string;
  readonly name: string;
  readonly registry: string;
  readonly env: Environment;
}

/** True if a file is a bake file or a workflow, and no Dockerfile. */
export function isDefinition(file: string): boolean {
  return [".hcl", ".json", ".yml", ".yaml"].includes(extname(file).toLowerCase());
}

/** Writes the matrix even if a build differs. Throws `FILE_EXISTS`, `USAGE` for a file without builds, and the errors of `readBake`. */
export async function initFromDefinition(
  folder: string,
  options: DefinitionOptions,
): Promise<InitFromDefinition> {
  const { file, env } = options;
  refuseExisting(folder, [matrixFile]);
  const text = await readTextFile(join(folder, file), inputLimits.matrix, { shown: file });
  const workflow = /\.ya?ml$/i.test(file) ? readWorkflow(text) : null;
  const { builds: all, notes } = workflow ?? (await readBake(file, text, { folder, env }));
  const builds = all.filter(({ platform }) => platform === null || marchPlatforms.includes(platform));
  if (builds.length === 0)
    throw usageError(
      [`${file} builds no image that is known`, ...notes].join("; "),
      "name a bake file, or a workflow whose jobs use docker/build-push-action or docker build",
    );
  const defaultsOf = await readDefaults(folder, builds);
  const path = join(folder, matrixFile);
  const attempts = await Promise.all(
    [true, false].map(async (templates) => {
      const derived = deriveMatrix(builds, { defaultsOf, templates });
      const yaml = definitionText(derived.matrix, options);
      const compared = await comparison(yaml, path, builds, defaultsOf);
      return { yaml, ...compared, notes: [...notes, ...derived.notes] };
    }),
  );
  const equal = ({ builds: all, problems }: (typeof attempts)[number]) =>
    problems.length > 0 ? -1 : all.filter((each) => each.equal).length;
  // Prefer templates of the axes, unless the plain texts make more builds equal.
  const best = attempts.reduce((one, other) => (equal(other) > equal(one) ? other : one));
  await writeFileAtomic(path, best.yaml, folder);
  const others = all.filter((build) => !builds.includes(build));
  const unequal = others.map(({ name: build, platform }) =>
    unlike(build, { what: "platform", original: platform, cell: null }),
  );
  return {
    written: [matrixFile],
    builds: [...best.builds, ...unequal],
    notes: best.notes,
    problems: best.problems,
  };
}

/** Reads the defaults of each Dockerfile's `ARG`s. An unreadable file has none: the comparison reports it. */
async function readDefaults(
  folder: string,
  builds: readonly OriginalBuild[],
): Promise<(dockerfile: string) => Defaults> {
  const found = new Map<string, Defaults>();
  for (const path of new Set(builds.map(({ dockerfile }) => dockerfile))) {
    const text = await readTextFile(join(folder, path), inputLimits.template).catch(() => "");
    const defaults = new Map<string, string | null>();
    for (const { name, value } of argumentsOf(readDockerfile(text).placed))
      defaults.set(name, defaults.get(name) ?? value);
    found.set(path, defaults);
  }
  return (dockerfile) => found.get(dockerfile) ?? new Map<string, string | null>();
}

async function comparison(
  yaml: string,
  path: string,
  builds: readonly OriginalBuild[],
  defaultsOf: (dockerfile: string) => Defaults,
): Promise<{ readonly builds: readonly ComparedBuild[]; readonly problems: readonly Problem[] }> {
  try {
    return { builds: await compareBuilds(yaml, path, builds, defaultsOf), problems: [] };
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

function definitionText(matrix: DerivedMatrix, { file, name, registry }: DefinitionOptions): string {
  const { template, context, target, args = {}, axes, values, exclude } = matrix;
  const given = {
    name,
    version: "0.1.0",
    registry,
    ...{ template, context, target },
    ...(Object.keys(args).length > 0 && { args }),
    axes,
    ...(Object.keys(values).length > 0 && { values }),
    ...(exclude.length > 0 && { exclude }),
  };
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  const document = new Document(Object.fromEntries(entries));
  document.commentBefore = ` yaml-language-server: $schema=./node_modules/imgmatch/dist/matrix.schema.json\n From ${file}, by imgmatch init.`;
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
