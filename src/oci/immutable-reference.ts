/** References by digest, which name one image for ever: `resolve` prints one, and every launch starts one. */

import { ImgmatchError } from "../errors.ts";
import { type Digest, isDigest } from "./digest.ts";
import { parseImageReference } from "./reference.ts";

declare const checked: unique symbol;

/**
 * `repository:tag@sha256:…`, or without the tag; or the id `sha256:…` of an image that only a local engine has. It begins with a letter, a
 * digit or a bracket, and has no character with a meaning to a shell: it is safe as an argument. Only the functions here make one.
 */
export type ImmutableReference = string & { readonly [checked]: true };

/** Keeps the name as it is written. Throws `REFERENCE_INVALID` for a text that is no reference with a digest. */
export function parseImmutableReference(text: string): ImmutableReference {
  const { digest } = parseImageReference(text);
  if (digest === null) {
    throw new ImgmatchError({
      code: "REFERENCE_INVALID",
      message: `${JSON.stringify(text)} has no digest: the tag can name another image tomorrow`,
      fix: "write it as registry/repository:tag@sha256:…",
    });
  }
  return text as ImmutableReference;
}

/** Throws `REFERENCE_INVALID`. */
export function immutableReference(repository: string, tag: string, digest: Digest): ImmutableReference {
  return parseImmutableReference(`${repository}:${tag}@${digest}`);
}

/** An image that no registry has: docker and podman take an id wherever they take a name. */
export function localReference(id: Digest): ImmutableReference {
  return id as string as ImmutableReference;
}

/** The parts as they were written. */
export function referenceParts(reference: ImmutableReference): {
  readonly repository: string;
  readonly tag: string | null;
  readonly digest: Digest;
} {
  const { tag, digest } = parseImageReference(reference);
  const name = reference.slice(0, reference.indexOf("@"));
  return {
    repository: tag === null ? name : name.slice(0, -tag.length - 1),
    tag,
    // Every immutable reference has one.
    digest: digest as Digest,
  };
}

/**
 * `repository@sha256:…`: programs on containers/image (podman, apptainer, CRI-O) and Mesos refuse a tag beside a digest
 * ("Docker references with both a tag and digest are currently not supported").
 */
export function byDigest(reference: ImmutableReference): string {
  if (isDigest(reference)) return reference;
  const { repository, digest } = referenceParts(reference);
  return `${repository}@${digest}`;
}
