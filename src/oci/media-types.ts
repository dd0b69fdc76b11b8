/** Media types of manifests and indexes (OCI image-spec `media-types.md`; distribution, image manifest V2 schema 2). */

export const indexTypes = {
  oci: "application/vnd.oci.image.index.v1+json",
  docker: "application/vnd.docker.distribution.manifest.list.v2+json",
} as const;

export const manifestTypes = {
  oci: "application/vnd.oci.image.manifest.v1+json",
  docker: "application/vnd.docker.distribution.manifest.v2+json",
} as const;

/** For `Accept`: without it, registries convert manifests to formats of 2015, with another digest. */
export const acceptedTypes = [...Object.values(indexTypes), ...Object.values(manifestTypes)].join(", ");

export function isIndexType(mediaType: string): boolean {
  return Object.values<string>(indexTypes).includes(mediaType);
}

// OCI image-spec, `schema/defs-descriptor.json` (RFC 6838, 4.2). Foreign types are checked because they are sent on in headers.
const mediaTypePattern = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/i;

export function isMediaType(text: unknown): text is string {
  return typeof text === "string" && mediaTypePattern.test(text);
}

/** Type of an empty configuration (OCI image-spec, manifest.md, "Guidance for an Empty Descriptor"). */
export const emptyType = "application/vnd.oci.empty.v1+json";
