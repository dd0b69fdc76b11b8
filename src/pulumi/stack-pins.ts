/** What a stack's own lock pins, as far as its state tells of it. Pure. */

import { fieldsOf } from "../io/json.ts";
import { type LockedBase, type LockPins, rebuildWord } from "../lock/lock.ts";
import { isDigest } from "../oci/digest.ts";

/** null where there is no lock. A base without a digest is none that is pinned: it is asked for. */
export function pinsIn(lock: unknown): LockPins | null {
  const images = Object.entries(fieldsOf(fieldsOf(lock).images)).map(([cell, image]) => {
    const { bases, inputs } = fieldsOf(image);
    const { rebuild } = fieldsOf(inputs);
    const pins = {
      bases: Array.isArray(bases) ? bases.flatMap(baseIn) : [],
      ...(typeof rebuild === "string" && rebuildWord.test(rebuild) ? { inputs: { rebuild } } : {}),
    };
    return [cell, pins] as const;
  });
  return images.length === 0 ? null : { images: Object.fromEntries(images) };
}

function baseIn(value: unknown): readonly LockedBase[] {
  const { ref, digest } = fieldsOf(value);
  return typeof ref === "string" && typeof digest === "string" && isDigest(digest) ? [{ ref, digest }] : [];
}
