/** Default names of the workloads that run an image. */

import { type ImmutableReference, referenceParts } from "../../oci/immutable-reference.ts";

/** `cv-tf` of `registry.example.com/team/cv-tf:1.0@sha256:…`. */
export function baseName(reference: ImmutableReference): string {
  return lastPart(referenceParts(reference).repository);
}

/** {@link baseName} as a DNS label. */
export function dnsBaseName(reference: ImmutableReference): string {
  return dnsName(baseName(reference));
}

/** `cv-tf` of the repository `registry.example.com/team/cv-tf`. */
export function lastPart(repository: string): string {
  return repository.slice(repository.lastIndexOf("/") + 1);
}

/** A DNS label (RFC 1123): lower-case letters, digits and single hyphens, at most 63 characters. */
export function dnsName(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 63)
    .replace(/^-+|(?<!-)-+$/g, "");
  return name === "" ? "app" : name;
}
