/** Makes original builds comparable: the arguments that reach the image, and the target that other builds name. Pure. */

import { remember } from "../../io/collections.ts";
import { count } from "../../io/table.ts";
import { isPredefined } from "../dockerfile/arguments.ts";
import { readStages } from "../dockerfile/stages.ts";
import type { DockerfileOf } from "./build-hardware.ts";
import type { OriginalBuild } from "./original-build.ts";
import { notKnown } from "./workflow-builds.ts";

/** More names of unused arguments are counted. */
const mostNames = 20;

/** Docker warns of an argument that no `ARG` takes, and builds the same image. */
export function normalBuilds(
  all: readonly OriginalBuild[],
  dockerfileOf: DockerfileOf,
): {
  readonly builds: readonly OriginalBuild[];
  /** The variables that have the texts of arguments in a run, by the arguments' names. */
  readonly environment: ReadonlyMap<string, string>;
  readonly notes: readonly string[];
} {
  const unused = new Map<string, { readonly names: Set<string>; builds: number }>();
  const ofWorkflow = workflowArguments(all, dockerfileOf);
  const targets = new Set(all.map(({ dockerfile, target }) => `${dockerfile}\n${target}`));
  const builds = all.map((build) => {
    const { dockerfile: file, args, target } = build;
    const { defaults, instructions } = dockerfileOf(file);
    const isUsed = (name: string) => defaults.has(name) || isPredefined(name);
    const left = Object.keys({ ...args, ...build.ofWorkflow }).filter((name) => !isUsed(name));
    const ofFile = remember(unused, file, () => ({ names: new Set<string>(), builds: 0 }));
    for (const name of left) ofFile.names.add(name);
    if (left.length > 0) ofFile.builds += 1;
    const run = Object.entries(build.ofWorkflow).filter(([name]) => isUsed(name));
    const unknown = run.filter(([name]) => !ofWorkflow.has(name));
    const taken = run.filter(([name]) => ofWorkflow.has(name));
    const last = readStages(instructions).at(-1)?.name ?? null;
    // A build without target is one of the last stage, which other builds may name.
    const isNamed = targets.has(`${file}\n${last}`);
    return {
      ...build,
      target: target ?? (isNamed ? last : null),
      left: [...build.left, ...unknown.map(([name, text]) => notKnown(`args.${name}`, text))],
      args: Object.fromEntries([
        ...Object.entries(args).filter(([name]) => isUsed(name)),
        ...taken.map(([name]) => [name, defaults.get(name) ?? ""]),
      ]),
    };
  });
  const notes = [...unused].flatMap(([file, { names, builds: own }]) => {
    if (own === 0) return [];
    const few = [...names].slice(0, mostNames).join(", ");
    const more = names.size > mostNames ? ` and ${names.size - mostNames} more` : "";
    return [
      `${file} has no ARG ${few}${more}: ${names.size > 1 ? "these arguments" : "the argument"} of ${count(own, "build")} ${names.size > 1 ? "reach no image, and are" : "reaches no image, and is"} left out`,
    ];
  });
  const environment = new Map([...ofWorkflow].flatMap(([name, text]) => variableOf(name, text)));
  const given = [...ofWorkflow].map(([name, text]) => {
    const variable = environment.get(name);
    return variable === undefined
      ? `${name} is ${text}: give each run's value with imgmatch build --build-arg ${name}=VALUE`
      : `${name} is ${text}: the matrix takes it from ${variable}, which GitHub sets in each run`;
  });
  return { builds, environment, notes: [...notes, ...given] };
}

/** GitHub has each such value in a variable too (docs.github.com, "Default environment variables"). */
function variableOf(name: string, text: string): readonly (readonly [string, string])[] {
  const [, own] = /^\$\{\{\s*(?:github\.|env\.GITHUB_)(\w+)\s*\}\}$/i.exec(text) ?? [];
  return own === undefined ? [] : [[name, `GITHUB_${own.toUpperCase()}`]];
}

/** Arguments that `imgmatch build --build-arg` can give all cells: arguments with one text in all builds, which choose no base. */
function workflowArguments(
  builds: readonly OriginalBuild[],
  dockerfileOf: DockerfileOf,
): ReadonlyMap<string, string> {
  const names = new Set(builds.flatMap(({ ofWorkflow }) => Object.keys(ofWorkflow)));
  const found = [...names].flatMap((name): (readonly [string, string])[] => {
    const takers = builds.filter(({ dockerfile }) => dockerfileOf(dockerfile).defaults.has(name));
    const texts = new Set(takers.map(({ ofWorkflow }) => ofWorkflow[name]));
    const [text] = texts;
    const isInBase = takers.some(({ dockerfile }) =>
      dockerfileOf(dockerfile).instructions.instructions.some(
        ({ keyword, text: line }) =>
          /^(FROM|ARG)$/.test(keyword) && new RegExp(`\\$\\{?${name}\\b`).test(line),
      ),
    );
    return texts.size === 1 && text !== undefined && !isInBase ? [[name, text]] : [];
  });
  return new Map(found);
}
