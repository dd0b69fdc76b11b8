/** The fleet that hosts are compared with: images of a lock or an index, or the planned images of a matrix. */

import { noDigest } from "../oci/digest.ts";
import type { Cell } from "../fleet/cells/cell.ts";
import { buildableCells, expandMatrix } from "../fleet/cells/expand.ts";
import type { Matrix } from "../fleet/matrix/matrix.ts";
import { type Lock, type LockedImage, lockSchemaVersion } from "../lock/lock.ts";
import type { Figures } from "./fleet-cost.ts";

export interface CoverFleet {
  /** `plan`: the images of a matrix, built or not. */
  readonly from: "lock" | "index" | "plan";
  readonly lock: Lock;
  /** Sizes and build times of images; by default those of `lock`. */
  readonly figures?: Figures;
}

/** The fleet of every cell of a matrix that can be built. Throws as `expandMatrix` does. */
export function plannedFleet(matrix: Matrix): CoverFleet {
  return { from: "plan", lock: plannedLock(matrix, buildableCells(expandMatrix(matrix))) };
}

/** The lock that a matrix would have with these cells. Their ids stand for the tags, which are unknown. */
export function plannedLock({ name, version, repository, prefer }: Matrix, cells: readonly Cell[]): Lock {
  return {
    schemaVersion: lockSchemaVersion,
    ...{ name, version, repository },
    ...(prefer.length === 0 ? {} : { prefer }),
    images: Object.fromEntries(cells.map((cell) => [cell.id, plannedImage(cell)])),
  };
}

/** It has a digest that names nothing, as only an image with a digest fits a host. */
export function plannedImage({
  id,
  axes,
  platform,
  requires,
}: Pick<Cell, "id" | "axes" | "platform" | "requires">): LockedImage {
  return {
    ...{ axes, platform, requires },
    tag: id,
    inputDigest: noDigest,
    digest: noDigest,
    bases: [],
    builder: "",
    created: null,
    size: null,
  };
}

/** Nobody can pull a planned image. */
export function isPlanned({ inputDigest }: Pick<LockedImage, "inputDigest">): boolean {
  return inputDigest === noDigest;
}
