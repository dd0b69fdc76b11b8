/** The cells that need work, divided among the jobs of a GitHub workflow. */

import { type Watching, type World, worldOf } from "../io/world.ts";
import type { CellSettings } from "./cells/cell-settings.ts";
import { type Machine, type Shard, shardCells } from "./export/shards.ts";
import type { FleetChoice } from "./fleet-choice.ts";
import { planForExport } from "./plan-choice.ts";

export interface GithubMatrixOptions extends FleetChoice, Watching {
  /** Jobs at most, more only where one job's list of cells would be too long for a command line. Default: 16. */
  readonly shards?: number;
}

/** As `strategy.matrix` takes it. */
export interface GithubMatrix {
  readonly include: readonly Shard[];
}

/**
 * Divides the cells that `build --push` would build among jobs. Throws as `plan`, and every failure to read a base image's digest.
 *
 * @example
 * const { include } = await exportGithubMatrix({ shards: 8 });
 */
export async function exportGithubMatrix(
  asked: GithubMatrixOptions = {},
  given?: Partial<World>,
): Promise<GithubMatrix> {
  const { plan } = await planForExport(asked, worldOf(asked, given));
  const open = plan.cells.filter(({ action }) => action === "build" || action === "adopt");
  const cells = open.map(({ cell: { id, platform, settings }, bases }) => ({
    id,
    platform,
    machine: machineOf(settings),
    bases: bases.map(({ used }) => used),
  }));
  return { include: shardCells(cells, asked.shards ?? 16) };
}

function machineOf({ runner, timeoutMinutes, freeDisk }: CellSettings): Machine {
  return {
    ...(runner === null ? {} : { runner: runner.value }),
    ...(timeoutMinutes === null ? {} : { timeout: timeoutMinutes.value }),
    ...(freeDisk === null ? {} : { freeDisk: freeDisk.value }),
  };
}
