/** The name of a base image that only an engine has. */

import type { Digest } from "./digest.ts";

/** No registry can ever answer for this name: RFC 2606 keeps `.invalid` free of hosts. */
const repository = "imgmatch.invalid/base";

/** `imgmatch.invalid/base:<64 hexadecimal digits>`. `id` is the engine's id of the image. */
export function localBaseName(id: Digest): string {
  return `${repository}:${id.slice("sha256:".length)}`;
}

export function namesLocalBase(text: string): boolean {
  return text.includes(`${repository}:`);
}

/** Replaces each such name in a text; `nameOf` gets the engine's id of the image. */
export function replaceLocalBases(text: string, nameOf: (id: Digest) => string): string {
  return text.replace(/\bimgmatch\.invalid\/base:([0-9a-f]{64})\b/g, (_, hex) => nameOf(`sha256:${hex}`));
}
