/** The builds of an existing bake file or workflow. */

import { usageError } from "../../errors.ts";

/** The arguments of one `docker build`. */
export interface OriginalBuild {
  /** Its name in the definition: a target of bake; a workflow's job, row and step. */
  readonly name: string;
  /** From the folder of the matrix. */
  readonly dockerfile: string;
  readonly context: string;
  /** Folders by the names that the Dockerfile has for them. */
  readonly contexts: Readonly<Record<string, string>>;
  /** null for the last stage. */
  readonly target: string | null;
  /** null for the builder's own platform. */
  readonly platform: string | null;
  readonly args: Readonly<Record<string, string>>;
  /** Arguments that have one value in the whole run of a workflow, by their expressions: `${{ github.sha }}`. */
  readonly ofWorkflow: Readonly<Record<string, string>>;
  /** The labels of the machine that builds it; empty if none are known. */
  readonly runner: readonly string[];
  /** Parts that no matrix can express, or that are unknown before the workflow runs. */
  readonly left: readonly string[];
  /** Names of settings that belong to a run of the build, and to no matrix: `secret`. */
  readonly ofRun: readonly string[];
  /** Why its Dockerfile and context are not those of the repository, or are not known: no cell can be this build. */
  readonly elsewhere?: string | null;
}

export interface Definition {
  readonly builds: readonly OriginalBuild[];
  readonly notes: readonly string[];
}

/** Each build is compared with each cell. The largest real definition that we know has 457. */
const mostBuilds = 2_000;

export function checkCount(files: string, builds: number): void {
  if (builds > mostBuilds)
    throw usageError(
      `${files} has ${builds} builds, and init compares ${mostBuilds} at most`,
      "write the matrix by hand: its axes are those of the definition",
    );
}
