/** The bases that a stack's own lock pins, as far as its state tells of them. Pure. */

import type { BasePins } from "../fleet/plan-open-fleet.ts";
import { fieldsOf } from "../input/json.ts";
import type { LockedBase } from "../lock/lock.ts";
import { isDigest } from "../oci/digest.ts";

/** null where there is no lock. A base without a digest is none that is pinned: it is asked for. */
export function pinsIn(lock: unknown): BasePins | null {
  const images = Object.entries(fieldsOf(fieldsOf(lock).images)).map(([cell, image]) => {
    const { bases } = fieldsOf(image);
    return [cell, { bases: Array.isArray(bases) ? bases.flatMap(baseIn) : [] }] as const;
  });
  return images.length === 0 ? null : { images: Object.fromEntries(images) };
}

function baseIn(value: unknown): readonly LockedBase[] {
  const { ref, digest } = fieldsOf(value);
  return typeof ref === "string" && typeof digest === "string" && isDigest(digest) ? [{ ref, digest }] : [];
}
