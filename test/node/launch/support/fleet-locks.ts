/** Locks of whole fleets, for launches of all their images. */

import { readFileSync } from "node:fs";
import { openFleet } from "../../../../src/fleet/open/open-fleet.ts";
import { planFleet } from "../../../../src/fleet/open/plan-fleet.ts";
import type { Lock } from "../../../../src/lock/lock.ts";
import { parseLock } from "../../../../src/lock/parse-lock.ts";
import { cuda, digest, gpuImage, image, lockOf, requirement } from "../../../resolve/support/locks.ts";

const visionFile = "docs/examples/vision/images/imgmatch.lock.json";

/** The lock of the documentation's example. Python is an axis that no node decides. */
export const visionLock: Lock = parseLock(readFileSync(visionFile, "utf8"), visionFile);

/** One image in each way in which a driver can come to it, with what else an image may need. */
export const mixedLock: Lock = lockOf({
  bundled: gpuImage(cuda("9.2.148", ["sm_70"], { driver: { mode: "bundled", version: "396.44" } })),
  compat: gpuImage(
    cuda("13.0.2", ["sm_80", "sm_90"], {
      driver: { mode: "compat", package: "580.95.05", cuda: "13.0", branches: ["535", "570"] },
    }),
  ),
  require: gpuImage(
    cuda("12.8.1", ["sm_80", "sm_86"], { require: "cuda>=12.8 brand=tesla,driver>=535,driver<536" }),
  ),
  "arm-gpu": gpuImage(cuda("12.8.1", ["sm_90"]), {
    platform: "linux/arm64",
    requires: requirement(cuda("12.8.1", ["sm_90"]), ["asimd"]),
  }),
  kernel: image({ requires: { ...requirement(null), kernel: "5.14" } }),
  old: image({ requires: requirement(null, ["sse4_2"]) }),
  arm: image({ platform: "linux/arm64", requires: requirement(null, ["asimd"]) }),
});

/** Every cell of this repository's own matrix, as if it were built. */
export async function ownLock(): Promise<Lock> {
  const fleet = await openFleet("matrix.yaml");
  const plan = await planFleet(fleet, { lock: null, findBaseDigest: async () => digest });
  const built = plan.cells.filter(({ inputDigest, tag }) => inputDigest !== null && tag !== null);
  return {
    schemaVersion: 2,
    name: fleet.matrix.name,
    version: fleet.matrix.version,
    repository: fleet.matrix.repository,
    images: Object.fromEntries(
      built.map(({ cell, tag }) => [
        cell.id,
        image({ axes: cell.axes, platform: cell.platform, tag: tag ?? "", requires: cell.requires }),
      ]),
    ),
  };
}
