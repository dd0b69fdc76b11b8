/** The name under which a build finds a base image that only its engine has. */

import type { Digest } from "./digest.ts";

/** RFC 2606 keeps `.invalid` free of hosts: no registry can ever answer for such a name. */
const repository = "imgmatch.invalid/base";

/** `imgmatch.invalid/base:<64 hexadecimal digits>`, for an engine's own id of an image. */
export function localBaseName(id: Digest): string {
  return `${repository}:${id.slice("sha256:".length)}`;
}

export function namesLocalBase(text: string): boolean {
  return text.includes(`${repository}:`);
}

/** The text with each such name replaced; `nameOf` gets an engine's id of an image. */
export function replaceLocalBases(text: string, nameOf: (id: Digest) => string): string {
  return text.replace(/\bimgmatch\.invalid\/base:([0-9a-f]{64})\b/g, (_, hex) => nameOf(`sha256:${hex}`));
}
