/** The images of a matrix that is not built yet, as if they were: what the plan says that they will need is all that is asked. */

import type { Lock, LockedImage } from "../lock/lock.ts";
import type { Matrix } from "../matrix/matrix.ts";
import type { Cell } from "../plan/cell.ts";
import { expandMatrix } from "../plan/expand.ts";
import type { CoverFleet } from "./cover.ts";

/**
 * Every cell that is to be built. Tags, which decide between images that are equal in all else, are not known: the cells' ids
 * stand for them. Throws as `expandMatrix` does.
 */
export function plannedFleet(matrix: Matrix): CoverFleet {
  const cells = expandMatrix(matrix).flatMap(({ cell, skipped }) => (skipped === null ? [cell] : []));
  const { name, version, repository, digest: matrixDigest, prefer } = matrix;
  const lock: Lock = {
    schemaVersion: 1,
    ...{ name, version, repository, matrixDigest },
    ...(prefer.length === 0 ? {} : { prefer }),
    images: Object.fromEntries(cells.map((cell) => [cell.id, plannedImage(cell)])),
  };
  return { from: "plan", lock };
}

/** With a digest, as only built images fit a host; it names nothing. */
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

const noDigest = `sha256:${"0".repeat(64)}` as const;
