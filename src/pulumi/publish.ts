/** Publishes a fleet, with the engine that has it or with Pulumi. */

import { type PublishOptions, publishWith } from "../fleet/publish-with.ts";
import type { BuildAnswer, FleetBuildEvent } from "../fleet/run-build.ts";
import type { World } from "../io/world.ts";
import { fleetBuilderFor } from "./builder-choice.ts";

/**
 * Pushes what was built and not pushed, and writes one image index for the version. What the engine has lost is built again; nothing new is
 * built. `results` has what was pushed now, and `index.missing` the cells that are not published.
 *
 * Throws as `build`, and `SELECTION_EMPTY` where nothing is published that an index could name.
 *
 * @example
 * const { index } = await publish();
 */
export async function publish(
  options: PublishOptions = {},
  world?: Partial<World<FleetBuildEvent>>,
): Promise<BuildAnswer> {
  return publishWith(fleetBuilderFor, options, world);
}
