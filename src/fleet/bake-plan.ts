/** `imgmatch export bake`: the cells of a plan that are not built already, as a bake file. */

import { isReady, jobOf, unreadyProblem } from "./build/jobs.ts";
import { type Problem, throwProblems } from "../errors.ts";
import { type BakeFile, type BakeSteps, bakeFile, pathsToHide } from "./export/bake.ts";
import { readContext } from "./dockerfile/context.ts";
import type { Plan, PlannedCell } from "./plan/planned-cell.ts";
import type { Fleet } from "./open-fleet.ts";

export interface BakeOptions extends BakeSteps {
  /** The build context as bake is to find it, relative to where it runs. */
  readonly folder: string;
  /** Commit of the sources, for a label; empty where there is none. */
  readonly revision: string;
}

/** Throws `BASE_UNRESOLVED` for all cells whose bases are not known. */
export function bakePlan(
  { matrix, cells }: Plan,
  fleet: Fleet,
  { folder, revision, ...steps }: BakeOptions,
): BakeFile {
  const built = cells.filter(({ inputs, action }) => inputs !== null && action !== "keep");
  throwProblems(built.filter((planned) => !isReady(planned)).map(unreadyProblem));
  throwProblems(built.flatMap(heldBases));
  const jobs = built
    .filter(isReady)
    .map((planned) => jobOf(planned, { ...fleet, matrix, revision, push: false }));
  return bakeFile(
    jobs.map(({ request }) => request),
    folder,
    steps,
  );
}

/** A bake file is for every machine, and what one engine alone has is not. */
function heldBases({ cell, bases }: PlannedCell): readonly Problem[] {
  return bases
    .filter(({ local }) => local !== undefined)
    .map(({ used, local }) => ({
      code: "BASE_UNRESOLVED",
      message: `${cell.id}: its base ${used} is in no registry, only ${local} on one machine has it`,
      fix: "push the base, and name it where it is: --replace-base OLD=NEW",
    }));
}

export interface UnhiddenFiles {
  readonly files: number;
  /** The fewest paths that `.dockerignore` has to name. */
  readonly paths: readonly string[];
  /** What `<Dockerfile>.dockerignore` shows and the context's own hides: bake would build without them. */
  readonly hidden: readonly string[];
}

/**
 * imgmatch keeps its own files out of images; bake sends everything that the context's `.dockerignore` does not hide, and asks no other
 * file, as the Dockerfiles stand in the bake file.
 */
export async function filesToHide({ context, contextDir, matrix }: Fleet): Promise<UnhiddenFiles> {
  const sent = new Set(context.entries.map(({ path }) => path));
  const { entries } = await readContext(contextDir, matrix.context.at);
  const known = new Set(entries.map(({ path }) => path));
  const more = entries
    .filter(({ path, kind }) => kind !== "folder" && !sent.has(path))
    .map(({ path }) => path);
  const lost = context.entries.filter(({ path, kind }) => kind !== "folder" && !known.has(path));
  return {
    files: more.length,
    paths: pathsToHide(more, sent),
    hidden: lost.map(({ path }) => path),
  };
}
