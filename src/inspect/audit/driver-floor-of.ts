/** The driver floor of an opened image, with what raises it. */

import { type MeasuredFloor, measureFloor } from "../gpu/driver-floor.ts";
import type { ImageInspection } from "../inspection.ts";

/** null where there is no GPU code, and where the files do not decide it. */
export function floorOf({ files, driver }: ImageInspection): MeasuredFloor | null {
  const holders = files.flatMap(({ path, gpu, program }) =>
    gpu === null ? [] : [{ path, gpu, needed: program?.needed ?? [] }],
  );
  const floor = measureFloor(holders, driver);
  return floor !== null && "minimum" in floor ? floor : null;
}
