/** Writes original builds in one way each: without arguments that change no image, and with one name for each stage. Pure. */

import { groupBy } from "../../io/collections.ts";
import { count } from "../../io/table.ts";
import { isPredefined } from "../dockerfile/arguments.ts";
import { readStages } from "../dockerfile/stages.ts";
import type { DockerfileOf } from "./build-hardware.ts";
import type { OriginalBuild } from "./original-build.ts";

/** Docker warns of an argument that no `ARG` takes, and builds the same image. */
export function normalBuilds(
  all: readonly OriginalBuild[],
  dockerfileOf: DockerfileOf,
): { readonly builds: readonly OriginalBuild[]; readonly notes: readonly string[] } {
  const unused: { readonly name: string; readonly file: string }[] = [];
  const targets = new Set(all.map(({ dockerfile, target }) => `${dockerfile}\n${target}`));
  const builds = all.map((build) => {
    const { dockerfile: file, args, target } = build;
    const { defaults, instructions } = dockerfileOf(file);
    const isUsed = (name: string) => defaults.has(name) || isPredefined(name);
    for (const name of Object.keys(args)) if (!isUsed(name)) unused.push({ name, file });
    const last = readStages(instructions).at(-1)?.name ?? null;
    // A build without target is one of the last stage, which other builds may name.
    const isNamed = targets.has(`${file}\n${last}`);
    return {
      ...build,
      target: target ?? (isNamed ? last : null),
      args: Object.fromEntries(Object.entries(args).filter(([name]) => isUsed(name))),
    };
  });
  const notes = [...groupBy(unused, ({ name, file }) => `${file} has no ARG ${name}`)].map(
    ([what, own]) =>
      `${what}: the argument of ${count(own.length, "build")} reaches no image, and is left out`,
  );
  return { builds, notes };
}
