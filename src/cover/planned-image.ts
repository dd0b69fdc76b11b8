/** Images that are not built, as if they were: what their plan says that they will need is all that is asked. */

import { type Lock, type LockedImage, lockSchemaVersion } from "../lock/lock.ts";
import type { Matrix } from "../fleet/matrix/matrix.ts";
import type { Cell } from "../fleet/cells/cell.ts";

/** The lock that a matrix would have with these cells. Tags, which decide between images that are equal in all else, are not known: the cells' ids stand for them. */
export function plannedLock(
  { name, version, repository, digest: matrixDigest, prefer }: Matrix,
  cells: readonly Cell[],
): Lock {
  return {
    schemaVersion: lockSchemaVersion,
    ...{ name, version, repository, matrixDigest },
    ...(prefer.length === 0 ? {} : { prefer }),
    images: Object.fromEntries(cells.map((cell) => [cell.id, plannedImage(cell)])),
  };
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

/** Whether it is one of those: nobody can pull it. */
export function isPlanned({ inputDigest }: Pick<LockedImage, "inputDigest">): boolean {
  return inputDigest === noDigest;
}

const noDigest = `sha256:${"0".repeat(64)}` as const;
