/** Builds a fleet, with an engine cell by cell or with Pulumi. */

import { type BuildOptions, type BuildPreview, buildWith } from "../fleet/build-with.ts";
import type { BuildAnswer, FleetBuildEvent } from "../fleet/run-build.ts";
import type { World } from "../io/world.ts";
import { fleetBuilderFor } from "./builder-choice.ts";

/**
 * Builds every cell that is not in the lock, and writes the lock after every cell; `push` pushes every image, `index` writes the version's index.
 * A cell that fails is one of the `results` and does not stop the others. `signal` starts nothing more, and lets pushes end. `dryRun` answers
 * with the plan.
 *
 * Throws `USAGE`, as `plan`, `ENGINE_…`, `INDEX_CONFLICT` before it builds images that the index would refuse, `LOCK_BUSY`,
 * `WRITE_FAILED`.
 *
 * @example
 * const { results } = await build({ push: true });
 */
export async function build(
  options: BuildOptions & { readonly dryRun: true },
  world?: Partial<World<FleetBuildEvent>>,
): Promise<BuildPreview>;
export async function build(
  options?: Omit<BuildOptions, "dryRun">,
  world?: Partial<World<FleetBuildEvent>>,
): Promise<BuildAnswer>;
export async function build(
  options: BuildOptions = {},
  world?: Partial<World<FleetBuildEvent>>,
): Promise<BuildAnswer | BuildPreview> {
  return buildWith(fleetBuilderFor, options, world);
}
