/** Names for what runs an image: of a job, a pod, a service. */

import { type ImmutableReference, referenceParts } from "../../oci/immutable-reference.ts";

/** `cv-tf` of `registry.example.com/team/cv-tf:1.0@sha256:…`. */
export function baseName(reference: ImmutableReference): string {
  return lastPart(referenceParts(reference).repository);
}

/** `cv-tf` of the repository `registry.example.com/team/cv-tf`. */
export function lastPart(repository: string): string {
  return repository.slice(repository.lastIndexOf("/") + 1);
}

/** Lower case letters, digits and single hyphens, as DNS labels of at most 63 characters (RFC 1123). */
export function dnsName(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 63)
    .replace(/^-+|(?<!-)-+$/g, "");
  return name === "" ? "app" : name;
}
