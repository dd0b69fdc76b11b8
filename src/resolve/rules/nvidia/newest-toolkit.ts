/** Finds the newest toolkit that a driver serves natively and that compiles for every visible GPU. */

import { cudaToolkits, driverFloor, toolkitCompiles } from "../../../hardware/cuda-toolkits.ts";
import { compareVersions, parseVersion } from "../../../hardware/driver-version.ts";
import type { NvidiaView } from "../../nvidia-view.ts";

export function newestToolkit({ cuda, driver, driverScale, gpus }: NvidiaView): string | null {
  if (cuda === null || driver === null) return null;
  const usable = cudaToolkits.filter((toolkit) => {
    const minor = parseVersion(toolkit.minor);
    if (minor === null || compareVersions(minor, cuda.parts) > 0) return false;
    const floor = parseVersion(driverFloor(toolkit)?.minimum ?? "");
    if (driverScale === "linux" && (floor === null || compareVersions(driver.parts, floor) < 0)) return false;
    return gpus.every(
      ({ compute }) =>
        compute !== null && toolkitCompiles(toolkit, { kind: "sass", compute, suffix: "" }) === true,
    );
  });
  // Oldest first in the table.
  return usable.at(-1)?.minor ?? null;
}
