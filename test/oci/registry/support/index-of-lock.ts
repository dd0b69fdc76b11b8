/** A lock as publishing and reading its index leaves it, without a registry. */

import type { Lock } from "../../../../src/lock/lock.ts";
import { type ImageReference, parseImageReference } from "../../../../src/oci/reference.ts";
import { formatFleetIndex } from "../../../../src/lock/store/format-fleet-index.ts";
import { type FleetIndex, indexedImage } from "../../../../src/lock/fleet-index.ts";
import { shownImages } from "../../../../src/resolve/shown-images.ts";
import { lockOfIndex, parseFleetIndex } from "../../../../src/lock/store/read-fleet-index.ts";

/** The index that publishing a lock writes: every image with a digest. */
export function indexOf({ name, version, prefer = [], images }: Lock): FleetIndex {
  const entries = Object.entries(images).flatMap(([cell, locked]) => {
    const indexed = indexedImage(locked);
    if (indexed === null) return [];
    const { digest } = indexed;
    const descriptor = { mediaType: "application/vnd.oci.image.manifest.v1+json", digest, size: 1234 };
    return [[cell, { image: indexed, descriptor }] as const];
  });
  return { name, version, repository: "team/app", tag: version, prefer, entries: new Map(entries) };
}

export function readBack(index: FleetIndex, reference: ImageReference, maxBytes?: number): Lock {
  const stored = formatFleetIndex(index, shownImages(index), { maxBytes });
  return lockOfIndex(parseFleetIndex(stored, reference), reference, stored.top.digest);
}

export function byIndex(lock: Lock): Lock {
  return readBack(indexOf(lock), parseImageReference(`${lock.repository}:${lock.version}`));
}
