/** Compares original builds with the cells of a matrix: the arguments of each build, and what hosts are told of its image. */

import type { Cell } from "../cells/cell.ts";
import { contextOf } from "../template/settle-cells.ts";
import { checkedCells, type Fleet, openFleet } from "../open/open-fleet.ts";
import { type DockerfileOf, type Defaults, type Told, toldOf } from "./build-hardware.ts";
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
  /** `file`, `target`, `context`, `platform`, `accelerator`, `GPU targets`, `args.NAME`, or `left`. */
  readonly what: string;
  readonly original: string | null;
  readonly cell: string | null;
}

/** The arguments of `docker build` for a cell, and what hosts are told of its image. */
interface CellBuild extends Omit<OriginalBuild, "name" | "left" | "ofRun"> {
  readonly cell: string;
  readonly accelerator: string | null;
  readonly targets: readonly string[];
}

/** Throws what planning the matrix throws: no build is equal to a cell that no plan has. */
export async function compareBuilds(
  yaml: string,
  matrixFile: string,
  builds: readonly OriginalBuild[],
  dockerfileOf: DockerfileOf,
): Promise<readonly ComparedBuild[]> {
  const fleet = await openFleet(matrixFile, { text: yaml });
  const cells = checkedCells(fleet, []).map((cell) => cellBuild(cell, fleet));
  return builds.map((build) => {
    const dockerfile = dockerfileOf(build.dockerfile);
    const told = toldOf(build, dockerfile);
    const nearest = cells
      .map((cell) => ({
        cell,
        differences: [...differencesOf(build, cell, dockerfile.defaults), ...toldOtherwise(told, cell)],
      }))
      .sort((one, other) => one.differences.length - other.differences.length)[0];
    const left = build.left.map((original): Difference => ({ what: "left", original, cell: null }));
    const differences = [...(nearest?.differences ?? []), ...left];
    const equal = nearest !== undefined && differences.length === 0;
    return { name: build.name, cell: nearest?.cell.cell ?? null, equal, differences };
  });
}

function cellBuild(cell: Cell, { dockerfileOf }: Fleet): CellBuild {
  const { settings, requires } = cell;
  return {
    cell: cell.id,
    dockerfile: settings.template.value,
    context: contextOf(settings).value,
    target: settings.target?.value ?? null,
    platform: cell.platform,
    args: dockerfileOf(cell).args,
    accelerator: requires.cuda === null ? null : `CUDA ${requires.cuda.toolkit}`,
    targets: requires.cuda?.code ?? [],
  };
}

function differencesOf(build: OriginalBuild, cell: CellBuild, defaults: Defaults): readonly Difference[] {
  const names = new Set([...Object.keys(build.args), ...Object.keys(cell.args)]);
  return unequal([
    ["file", build.dockerfile, cell.dockerfile],
    ["context", build.context, cell.context],
    ["target", build.target, cell.target],
    ["platform", build.platform ?? cell.platform, cell.platform],
    ...Array.from(names, (name) => {
      // A missing argument has the Dockerfile's default.
      const standard = defaults.get(name) ?? null;
      return [`args.${name}`, build.args[name] ?? standard, cell.args[name] ?? standard] as const;
    }),
  ]);
}

function toldOtherwise({ toolkit, targets }: Told, cell: CellBuild): readonly Difference[] {
  const named = targets?.isGuess ? (targets.text ?? "named nowhere") : codeOf(targets?.computes ?? []);
  return unequal([
    ["accelerator", toolkit === null ? null : `CUDA ${toolkit.release}`, cell.accelerator],
    ["GPU targets", named, [...cell.targets].sort().join(", ")],
  ]);
}

function unequal(
  compared: readonly (readonly [what: string, original: string | null, cell: string | null])[],
): readonly Difference[] {
  return compared.flatMap(([what, original, cell]) => (original === cell ? [] : [{ what, original, cell }]));
}

/** `8.0`, `9.0+ptx` → `compute_90, sm_80, sm_90` */
function codeOf(computes: readonly string[]): string {
  const code = computes.flatMap((each) => {
    const number = each.replace("+ptx", "").replace(".", "");
    return [`sm_${number}`, ...(each.endsWith("+ptx") ? [`compute_${number}`] : [])];
  });
  return [...new Set(code)].sort().join(", ");
}
