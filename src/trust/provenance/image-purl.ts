/** Images as package URLs: what BuildKit calls the images that a build has used (package-url/purl-spec, types/docker). */

import { type Digest, isDigest } from "../../oci/digest.ts";
import { formatImageReference, type ImageReference, parseImageReference } from "../../oci/reference.ts";
import { attempt } from "../../io/attempt.ts";

/** `pkg:docker/nvidia/cuda@12.8.1-base?digest=sha256:…&platform=linux%2Famd64` */
export function imagePurl(ref: string, digest: Digest, platform: string): string {
  const { tag, ...rest } = parseImageReference(ref);
  const name = formatImageReference({ ...rest, tag: null, digest: null });
  const path = name.split("/").map(encodeURIComponent).join("/");
  const version = tag === null ? "" : `@${encodeURIComponent(tag)}`;
  return `pkg:docker/${path}${version}?digest=${digest}&platform=${encodeURIComponent(platform)}`;
}

export interface PurlImage {
  /** Without tag and digest. */
  readonly repository: string;
  readonly tag: string | null;
  readonly digest: Digest | null;
}

/** null for what names no image. */
export function readImagePurl(uri: string): PurlImage | null {
  const [, path = "", version, query = ""] =
    /^pkg:docker\/([^@?#]+)(?:@([^?#]+))?(?:\?([^#]*))?$/.exec(uri) ?? [];
  const name = attempt(() => decodeURIComponent(path), "");
  const tag = version === undefined ? null : attempt(() => decodeURIComponent(version), "");
  const reference = attempt(() => parseImageReference(tag === null ? name : `${name}:${tag}`), null);
  if (reference === null) return null;
  const digest = new URLSearchParams(query).get("digest");
  return { repository: repositoryOf(reference), tag, digest: isDigest(digest) ? digest : null };
}

/** With its registry, whatever was left out of the name. */
export function repositoryOf({
  registry,
  repository,
}: Pick<ImageReference, "registry" | "repository">): string {
  return `${registry}/${repository}`;
}
