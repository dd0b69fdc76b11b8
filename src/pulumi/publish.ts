/** Publishes a fleet, with the engine that has it or with Pulumi. */

import { type PublishOptions, publishWith } from "../fleet/publish-with.ts";
import type { BuildAnswer, FleetBuildEvent } from "../fleet/run-build.ts";
import type { World } from "../io/world.ts";
import { fleetBuilderFor } from "./builder-choice.ts";

/**
 * Pushes images that were built and not pushed, and writes one image index for the version. It builds an image that the engine has lost again, and
 * no other. `results` has the images pushed now, `index.missing` the cells that are not published.
 *
 * Throws as `build`, and `SELECTION_EMPTY` if no image is published.
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
