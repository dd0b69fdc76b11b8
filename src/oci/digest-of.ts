/** The digest of bytes. Apart from the word itself: `node:crypto` takes milliseconds to load, and `resolve` only reads digests. */

import { hash } from "node:crypto";
import type { Digest } from "./digest.ts";

/** The digest of these bytes, or of a text as UTF-8, as a registry names them. */
export function digestOf(bytes: Uint8Array | string): Digest {
  return `sha256:${hash("sha256", bytes)}`;
}
