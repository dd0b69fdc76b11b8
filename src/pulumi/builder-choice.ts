/** The builder of a fleet, as flags choose it: Pulumi, or an engine cell by cell. */

import type { FleetBuilder } from "../fleet/build/fleet-builder.ts";
import { cellBuilderFor, type EngineChoice, engineOptions } from "../fleet/build/engines/engine-choice.ts";
import type { World } from "../io/world.ts";

/** Throws `USAGE` for flags that do not go together, and what the engine throws when it is not there. */
export async function fleetBuilderFor(
  choice: EngineChoice,
  world: Pick<World, "env">,
): Promise<FleetBuilder> {
  if (choice.engine !== "pulumi") return cellBuilderFor(choice, world);
  const [options, { createPulumiBuilder }] = await Promise.all([
    engineOptions(choice, world),
    import("./builder.ts"),
  ]);
  return createPulumiBuilder({ ...options, stack: choice.stack });
}
