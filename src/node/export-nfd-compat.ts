/** The needs of each image of a lock, for Node Feature Discovery. */

import { selectImages } from "../fleet/cells/select.ts";
import { type FleetChoice, lockFileOf } from "../fleet/fleet-choice.ts";
import { note, type Watching, type World, worldOf } from "../io/world.ts";
import { readLock } from "../lock/lock-file.ts";
import { type NfdCompatSpecs, nfdCompatSpecs } from "./launch/nfd-compat.ts";

export interface NfdCompatOptions extends Pick<FleetChoice, "matrix" | "lock" | "only">, Watching {}

export interface NfdCompatAnswer extends Pick<NfdCompatSpecs, "images"> {
  readonly schemaVersion: 1;
}

/**
 * Writes Node Feature Discovery's image-compatibility specification of each image. Throws `LOCK_…`, and `USAGE` for an empty selection.
 *
 * @example
 * const { images } = await exportNfdCompat({ lock: "images/imgmatch.lock.json" });
 */
export async function exportNfdCompat(
  asked: NfdCompatOptions = {},
  given?: Partial<World>,
): Promise<NfdCompatAnswer> {
  const lock = selectImages(await readLock(lockFileOf(asked)), asked.only ?? []);
  const { images, left } = nfdCompatSpecs(lock);
  note(
    worldOf(asked, given),
    left.map(
      (cell) =>
        `left out: ${cell} is not built, or no node can run it, or it is for AMD, whose targets no label says`,
    ),
  );
  return { schemaVersion: 1, images };
}
