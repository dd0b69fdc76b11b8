/** The checks behind the words of `--expect` about NVIDIA's code: PTX, CUDA and the driver. */

import { type ComputeCapability, compareComputeCapability } from "../../hardware/compute-capability.ts";
import type { VersionParts } from "../../hardware/driver-version.ts";
import { parseGpuTarget } from "../../hardware/gpu-target.ts";
import type { ImageInspection } from "../inspection.ts";
import { isPtx } from "../../hardware/gpu-target.ts";
import {
  type Check,
  compareAsFar,
  missing,
  type Operator,
  targetIsNowhere,
  targetIsThere,
  unknown,
  unread,
} from "./word-checks.ts";

/** PTX of one device or family alone (`compute_90a`) serves no newer one. */
export function ptxIsThere(from: ComputeCapability | null): Check {
  return targetIsThere("nvidia", (name) => {
    const target = parseGpuTarget(name);
    if (target === null || target.kind !== "ptx") return false;
    return from === null || (target.suffix === "" && compareComputeCapability(target.compute, from) >= 0);
  });
}

export const ptxIsNowhere = targetIsNowhere("nvidia", isPtx);

export function cudaIs(operator: Operator, wanted: VersionParts): Check {
  return ({ inspection }) => {
    const { cuda } = inspection.requires;
    if (cuda === null) return missing(inspection, "nvidia", inspection.files);
    const { toolkit } = cuda;
    if (toolkit === null)
      return [unknown(null, whyUndecided(inspection) || "no file says which toolkit made its code")];
    const order = compareAsFar(toolkit, wanted);
    const isMet = operator === "<=" ? order <= 0 : operator === ">=" ? order >= 0 : order === 0;
    return isMet ? unread(inspection, "nvidia") : [{ file: null, found: `code of CUDA ${toolkit}` }];
  };
}

/** Why there is not one toolkit and one driver; empty if no reason is known. */
function whyUndecided({ requires: { undecided, choices } }: ImageInspection): string {
  const several = choices.cuda.map(({ by, toolkit }) => `${by} (CUDA ${toolkit})`).join(" or ");
  return undecided.join("; ") || (several && `it takes a driver at run time: ${several}`);
}

export function driverAtMost(most: VersionParts): Check {
  return ({ inspection }) => {
    const { cuda } = inspection.requires;
    if (cuda === null) return unread(inspection, "nvidia");
    const { driver, raisedBy } = cuda;
    if (driver?.mode === "bundled") {
      const file = inspection.driver.bundled[0]?.path ?? null;
      return [{ file, found: `exactly ${driver.version} (bundled)` }];
    }
    const minimum = driver?.minimum ?? null;
    if (minimum === null || (inspection.gpu?.unknownKinds ?? []).length > 0)
      return [unknown(null, whyUndecided(inspection) || "the oldest driver for its code")];
    if (compareAsFar(minimum, most) <= 0) return unread(inspection, "nvidia");
    return [{ file: null, found: `needs driver ${minimum}${raisedBy === null ? "" : ` (${raisedBy})`}` }];
  };
}
