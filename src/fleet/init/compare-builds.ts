/** Compares original builds with the cells of a matrix: the arguments of each build, and what hosts are told of its image. */

import { sidesOf } from "../../lock/requirement.ts";
import type { Cell } from "../cells/cell.ts";
import { formatToolkit } from "../dockerfile/base-toolkit.ts";
import type { AccelValue } from "../matrix/matrix.ts";
import { checkedCells, type Fleet, openFleet } from "../open/open-fleet.ts";
import { contextFolderOf } from "../template/render-settings.ts";
import { type DockerfileOf, type Told, toldOf } from "./build-hardware.ts";
import type { Defaults } from "./gpu-targets.ts";
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

/** The arguments of `docker build`, and what hosts are told of the image. */
interface Compared extends Omit<OriginalBuild, "name" | "left" | "ofRun" | "ofWorkflow" | "runner"> {
  readonly accelerator: string | null;
  /** Sorted GPU code. */
  readonly targets: string;
}

interface CellBuild extends Compared {
  readonly cell: string;
}

/** Throws what planning the matrix throws: no build is equal to a cell that no plan has. */
export async function compareBuilds(
  yaml: string,
  matrixFile: string,
  builds: readonly OriginalBuild[],
  dockerfileOf: DockerfileOf,
): Promise<readonly ComparedBuild[]> {
  const fleet = await openFleet(matrixFile, { text: yaml, env: {} });
  const cells = checkedCells(fleet, []).map((cell) => cellBuild(cell, fleet));
  const platforms = new Set(cells.map(({ platform }) => platform));
  const byKey = new Map(cells.map((cell) => [keyOf(cell, dockerfileOf(cell.dockerfile).defaults), cell]));
  return builds.map((build) => {
    const dockerfile = dockerfileOf(build.dockerfile);
    const told = toldOf(build, dockerfile);
    const whole = { ...build, ...namesOf(told) };
    const { defaults } = dockerfile;
    const keys = [build.platform ?? [...platforms]]
      .flat()
      .map((platform) => keyOf({ ...whole, platform }, defaults));
    const equal = keys.flatMap((key) => byKey.get(key) ?? [])[0];
    const nearest = equal ?? nearestOf(whole, cells, defaults);
    const left = [
      ...build.left,
      ...(told.hint === null
        ? []
        : [`accelerator: ${told.hint} speaks of one, and no text tells its toolkit`]),
      ...(told.targets?.isUnknown ? [`GPU targets: ${told.targets.text ?? "named nowhere"}`] : []),
    ].map((original): Difference => ({ what: "left", original, cell: null }));
    const differences = [
      ...(nearest === undefined || equal !== undefined ? [] : differencesOf(whole, nearest, defaults)),
      ...left,
    ];
    return {
      name: build.name,
      cell: nearest?.cell ?? null,
      equal: equal !== undefined && differences.length === 0,
      differences,
    };
  });
}

/** Equal for a build and its cell. A missing argument has the Dockerfile's default. */
function keyOf(build: Compared, defaults: Defaults): string {
  const { dockerfile, context, contexts, target, platform, args, accelerator, targets } = build;
  const named = Object.entries(contexts).sort();
  const own = Object.entries(args).filter(([name, text]) => text !== (defaults.get(name) ?? null));
  return JSON.stringify([dockerfile, context, named, target, platform, own.sort(), accelerator, targets]);
}

/** The first cell with the fewest differences; undefined without cells. */
function nearestOf(build: Compared, cells: readonly CellBuild[], defaults: Defaults): CellBuild | undefined {
  const distances = cells.map((cell) => differencesOf(build, cell, defaults).length);
  return cells[distances.indexOf(distances.reduce((one, other) => Math.min(one, other), Infinity))];
}

function cellBuild(cell: Cell, { dockerfileOf }: Fleet): CellBuild {
  const { settings, requires } = cell;
  return {
    cell: cell.id,
    dockerfile: settings.template.value,
    context: contextFolderOf(settings).value,
    contexts: settings.contexts?.value ?? {},
    target: settings.target?.value ?? null,
    platform: cell.platform,
    args: dockerfileOf(cell).args,
    accelerator: cell.accel && acceleratorOf(cell.accel),
    targets: [...(sidesOf(requires)[0]?.needs.code ?? [])].sort().join(", "),
  };
}

function acceleratorOf({ gpu, other }: AccelValue): string | null {
  if (gpu === null) return other;
  const { vendor, toolkit } = gpu;
  return nameOf({ vendor, release: toolkit.release, require: "require" in toolkit ? toolkit.require : null });
}

function differencesOf(build: Compared, cell: CellBuild, defaults: Defaults): readonly Difference[] {
  const folders = [...new Set([...Object.keys(build.contexts), ...Object.keys(cell.contexts)])];
  const names = new Set([...Object.keys(build.args), ...Object.keys(cell.args)]);
  const compared: readonly (readonly [what: string, original: string | null, cell: string | null])[] = [
    ["file", build.dockerfile, cell.dockerfile],
    ["context", build.context, cell.context],
    ...folders.map(
      (name) => [`contexts.${name}`, build.contexts[name] ?? null, cell.contexts[name] ?? null] as const,
    ),
    ["target", build.target, cell.target],
    ["platform", build.platform ?? cell.platform, cell.platform],
    ...Array.from(names, (name) => {
      const standard = defaults.get(name) ?? null;
      return [`args.${name}`, build.args[name] ?? standard, cell.args[name] ?? standard] as const;
    }),
    ["accelerator", build.accelerator, cell.accelerator],
    ["GPU targets", build.targets, cell.targets],
  ];
  return compared.flatMap(([what, original, its]) =>
    original === its ? [] : [{ what, original, cell: its }],
  );
}

function namesOf({ accelerator, targets }: Told): Pick<Compared, "accelerator" | "targets"> {
  return { accelerator: accelerator && nameOf(accelerator), targets: codeOf(targets?.computes ?? []) };
}

function nameOf({ vendor, release, require }: NonNullable<Told["accelerator"]>): string {
  const name = formatToolkit({ vendor, version: release });
  return require === null ? name : `${name}, NVIDIA_REQUIRE_CUDA=${require}`;
}

/** `8.0`, `9.0+ptx` → `compute_90, sm_80, sm_90`; targets of AMD stay. */
function codeOf(computes: readonly string[]): string {
  const code = computes.flatMap((each) => {
    if (!/^\d/.test(each)) return [each];
    const number = each.replace("+ptx", "").replace(".", "");
    return [`sm_${number}`, ...(each.endsWith("+ptx") ? [`compute_${number}`] : [])];
  });
  return [...new Set(code)].sort().join(", ");
}
