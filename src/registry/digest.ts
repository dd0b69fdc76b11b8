/** Content digests. Only sha256 is accepted: it is the only algorithm that every registry and engine offers. */

import { createHash } from "node:crypto";
import type { Digest } from "../lock/lock.ts";

const digestPattern = /^sha256:[0-9a-f]{64}$/;

export function isDigest(text: unknown): text is Digest {
  return typeof text === "string" && digestPattern.test(text);
}

/** The digest of these bytes, as a registry names them. */
export function digestOf(bytes: Uint8Array): Digest {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}
