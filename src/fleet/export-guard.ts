/** The guard of a cell, for an image that another tool builds. */

import { inWorld, type Watching, type World } from "../io/world.ts";
import { repositoryOfCell } from "./cells/cell-settings.ts";
import type { HostServices } from "./host-services.ts";
import { type FleetPlace, fleetAt } from "./open/fleet-choice.ts";
import { findPlanned } from "./plan/planned-cell.ts";

export interface ExportGuardOptions extends Pick<FleetPlace, "matrix" | "registry">, Watching {
  /** The cell's id. */
  readonly cell: string;
}

export interface ExportGuardAnswer {
  readonly schemaVersion: 1;
  readonly cell: string;
  /** `sh FILE PROGRAM …` asks the host, and then becomes the program. */
  readonly script: string;
}

/**
 * Writes the program that asks the host whether a cell's image runs there, and then starts the program behind it. Equal cells give equal bytes.
 * Throws `CELL_NOT_FOUND` and every mistake of the matrix.
 *
 * @example
 * const { script } = await exportGuard({ cell: "12.8.1_9.0a_sapphirerapids" });
 */
export type ExportGuardFunction = (
  options: ExportGuardOptions,
  world?: Partial<World>,
) => Promise<ExportGuardAnswer>;

export function exportGuardWith(ports: HostServices): ExportGuardFunction {
  return (options, given) =>
    inWorld(
      options,
      given,
      async (world: World & HostServices) => {
        const { fleet } = await fleetAt(options, world);
        const { cell } = findPlanned(fleet, options.cell);
        const repository = repositoryOfCell(fleet.matrix, cell);
        const script = await world.writeGuard({ ...cell, repository });
        return { schemaVersion: 1, cell: cell.id, script };
      },
      ports,
    );
}
