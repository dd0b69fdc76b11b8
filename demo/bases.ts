/** Base images for the CPU rows: the matrix's own where a registry can be reached, else an equivalent made here. */

import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { canPull, pushRootfs, type Workshop } from "./image.ts";
import { makeRootfs, type RootfsSpec } from "./rootfs.ts";

/** `from` as the matrix has it, `to` in the demo's registry: `imgmatch build --replace-base from=to`. */
export interface Replacement {
  readonly from: string;
  readonly to: string;
}

export interface StageBases {
  readonly build: string;
  readonly run: string;
}

export interface MatrixBases {
  readonly cpu: StageBases;
  /** Toolkit → its bases. */
  readonly cuda: ReadonlyMap<string, StageBases>;
}

export interface CpuBases {
  readonly replacements: readonly Replacement[];
  /** The origin of the base images, in words. */
  readonly how: string;
  /** The bases to build on: the replacements, or the matrix's own. */
  readonly stages: StageBases;
}

/** Names of the base images in a matrix that gives every entry a `build` and a `run` stage. */
export async function readMatrixBases(path: string): Promise<MatrixBases> {
  const matrix = parse(await readFile(path, "utf8"), { schema: "failsafe" });
  const entries = matrix.axes.cuda.filter((entry: unknown) => typeof entry === "object");
  return {
    cpu: matrix.base,
    cuda: new Map(entries.map((entry: { toolkit: string; base: StageBases }) => [entry.toolkit, entry.base])),
  };
}

/**
 * Pulls the bases, or makes equivalents with debootstrap and pushes them to the demo's registry.
 * Throws where neither is possible.
 */
export async function provideCpuBases(wanted: StageBases, workshop: Workshop): Promise<CpuBases> {
  const { say } = workshop.context;
  // The small one first: it tells within seconds whether a registry answers.
  if (await canPull(wanted.run, workshop, 60_000)) {
    say.line(`pulling ${wanted.build}, about 500 MB where it is not here yet`);
    if (await canPull(wanted.build, workshop, 1_200_000))
      return { replacements: [], how: "pulled", stages: wanted };
  }
  workshop.context.signal.throwIfAborted();
  say.line(`${wanted.run} cannot be pulled here: making an equivalent from the distribution's packages`);
  return makeCpuBases(wanted, workshop);
}

/** A minimal system to build C++ on. */
export const toolsRootfs: RootfsSpec = { name: "tools", packages: ["g++", "make"] };

/** The stand-ins alone: a minimal system with g++ to build on, one without to run on. */
export async function makeCpuBases(wanted: StageBases, workshop: Workshop): Promise<CpuBases> {
  const { context } = workshop;
  const [build, run] = await makeRootfs([toolsRootfs, { name: "run", packages: [] }], context);
  if (build === undefined || run === undefined) {
    throw new Error(
      `no base image: ${wanted.run} cannot be pulled, and debootstrap needs Debian or Ubuntu as root. Make a registry reachable`,
    );
  }
  const stages = {
    build: await pushRootfs(`${build.system}-build`, build.path, workshop),
    run: await pushRootfs(`${run.system}-run`, run.path, workshop),
  };
  return {
    replacements: [
      { from: wanted.build, to: stages.build },
      { from: wanted.run, to: stages.run },
    ],
    how: `made with debootstrap (${build.system})`,
    stages,
  };
}
