/** Content digests. Only sha256 is accepted: it is the only algorithm that every registry and engine offers. */

import { hash } from "node:crypto";

/** `sha256:` and 64 lower-case hexadecimal digits. */
export type Digest = `sha256:${string}`;

const digestPattern = /^sha256:[0-9a-f]{64}$/;

export function isDigest(text: unknown): text is Digest {
  return typeof text === "string" && digestPattern.test(text);
}

/** The digest of these bytes, or of a text as UTF-8, as a registry names them. */
export function digestOf(bytes: Uint8Array | string): Digest {
  return `sha256:${hash("sha256", bytes)}`;
}
