/** Transient tags: names that stand for a while, and hold no image. */

import { randomBytes } from "node:crypto";
import { digestOf } from "../digest-of.ts";
import type { Manifest } from "../descriptor.ts";
import { indexTypes } from "../media-types.ts";
import { manifestOf } from "./manifests.ts";

/** How all transient tags of a tag begin: by a hash, as the tag may be as long as any can be. */
export function transientPrefix(tag: string): string {
  return `imgmatch-${digestOf(tag).slice("sha256:".length, "sha256:".length + 16)}-`;
}

/** A new one. Without a tag it is of none that anybody publishes. */
export function transientTag(tag = randomBytes(8).toString("hex")): string {
  return `${transientPrefix(tag)}${randomBytes(4).toString("hex")}`;
}

export function isTransientTag(tag: string): boolean {
  return /^imgmatch-[0-9a-f]{16}-[0-9a-f]{8}$/.test(tag);
}

/** The content of a transient tag: an index that nobody else has, so that its removal removes nothing else. */
export function emptyIndex(note: string): Manifest {
  return manifestOf(indexTypes.oci, { manifests: [], annotations: { "dev.imgmatch.publisher": note } });
}

/** The content of a transient tag that stands no more, in a registry that cannot remove tags. */
export const left = emptyIndex("left");
