/** Compares original builds with the cells of a matrix, argument by argument. Reads only the Dockerfiles. */

import { dirname } from "node:path";
import type { Cell } from "../cells/cell.ts";
import { expandMatrix } from "../cells/expand.ts";
import { compileArguments } from "../dockerfile/arguments.ts";
import { contextOf, settleCells } from "../template/settle-cells.ts";
import { parseMatrix } from "../matrix/parse-matrix.ts";
import { readTemplates } from "../open/read-template.ts";
import type { Defaults } from "./build-hardware.ts";
import type { OriginalBuild } from "./original-build.ts";

export interface ComparedBuild {
  readonly name: string;
  /** The equal or nearest cell; null if the matrix has no cell. */
  readonly cell: string | null;
  readonly equal: boolean;
  /** Unequal parts, and parts of the original that no matrix can express. */
  readonly differences: readonly Difference[];
}

export interface Difference {
  /** `file`, `target`, `context`, `platform`, `args.NAME`, or `left`. */
  readonly what: string;
  readonly original: string | null;
  readonly cell: string | null;
}

/** The arguments of `docker build` for a cell. */
type CellBuild = Omit<OriginalBuild, "name" | "left"> & { readonly cell: string };

/** Throws what reading the matrix throws. */
export async function compareBuilds(
  yaml: string,
  matrixFile: string,
  builds: readonly OriginalBuild[],
  defaultsOf: (dockerfile: string) => Defaults,
): Promise<readonly ComparedBuild[]> {
  const cells = await cellBuilds(yaml, matrixFile);
  return builds.map((build) => {
    const nearest = cells
      .map((cell) => ({ cell, differences: differencesOf(build, cell, defaultsOf(build.dockerfile)) }))
      .sort((one, other) => one.differences.length - other.differences.length)[0];
    const left = build.left.map((original): Difference => ({ what: "left", original, cell: null }));
    const differences = [...(nearest?.differences ?? []), ...left];
    const equal = nearest !== undefined && differences.length === 0;
    return { name: build.name, cell: nearest?.cell.cell ?? null, equal, differences };
  });
}

async function cellBuilds(yaml: string, matrixFile: string): Promise<readonly CellBuild[]> {
  const matrix = parseMatrix(yaml, matrixFile);
  const settled = settleCells(matrix, expandMatrix(matrix));
  const cells = settled.flatMap(({ cell, skipped }): Cell[] => (skipped === null ? [cell] : []));
  const { templates } = await readTemplates(dirname(matrixFile), matrix, cells, {
    text: undefined,
    given: {},
  });
  const argumentsOf = compileArguments(matrix);
  return cells.map((cell) => ({
    cell: cell.id,
    dockerfile: cell.settings.template.value,
    context: contextOf(cell.settings).value,
    target: cell.settings.target?.value ?? null,
    platform: cell.platform,
    args: argumentsOf(cell, templates(cell).takes),
  }));
}

function differencesOf(build: OriginalBuild, cell: CellBuild, defaults: Defaults): readonly Difference[] {
  const differences: Difference[] = [];
  const compare = (what: string, original: string | null, own: string | null) => {
    if (original !== own) differences.push({ what, original, cell: own });
  };
  compare("file", build.dockerfile, cell.dockerfile);
  compare("context", build.context, cell.context);
  compare("target", build.target, cell.target);
  if (build.platform !== null) compare("platform", build.platform, cell.platform);
  for (const name of new Set([...Object.keys(build.args), ...Object.keys(cell.args)])) {
    // A missing argument has the Dockerfile's default.
    const standard = defaults.get(name) ?? null;
    compare(`args.${name}`, build.args[name] ?? standard, cell.args[name] ?? standard);
  }
  return differences;
}
