/** Makes digests. Apart from `digest.ts`, as `resolve` only reads digests and `node:crypto` takes milliseconds to load. */

import { hash } from "node:crypto";
import type { Digest } from "./digest.ts";

/** A text counts as UTF-8. */
export function digestOf(bytes: Uint8Array | string): Digest {
  return `sha256:${hash("sha256", bytes)}`;
}
