/** The repository of an image: its own, else the fleet's. */

import { type ImageReference, parseImageReference } from "../oci/reference.ts";
import type { Lock, LockedImage } from "./lock.ts";

type Fleet = Pick<Lock, "repository">;
type InRepository = Pick<LockedImage, "repository">;

export function repositoryOf({ repository }: Fleet, image: InRepository): string {
  return image.repository ?? repository;
}

/** Every repository once, the fleet's first. */
export function repositoriesOf(lock: Pick<Lock, "repository" | "images">): readonly string[] {
  return [
    ...new Set([lock.repository, ...Object.values(lock.images).map((image) => repositoryOf(lock, image))]),
  ];
}

/** Without tag and digest. */
export function placeOf(fleet: Fleet, image: InRepository): ImageReference {
  return parseImageReference(repositoryOf(fleet, image));
}
