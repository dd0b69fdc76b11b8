/** The name of one image for ever: what `resolve` prints and what every launch starts. Made by the functions here alone. */

import { ImgmatchError } from "../errors.ts";
import { type Digest, isDigest } from "./digest.ts";
import { parseImageReference } from "./reference.ts";

declare const checked: unique symbol;

/**
 * `repository:tag@sha256:…`, or without the tag; of an image that only an engine of this machine has, its id there, `sha256:…`. It begins with a letter, a digit or a bracket and holds nothing that a shell
 * or a program reads as anything but a name: it can stand wherever an argument can.
 */
export type ImmutableReference = string & { readonly [checked]: true };

/** Throws `REFERENCE_INVALID` for text that is no reference with a digest. The name stays as it is written. */
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

/** The image with this tag and digest in a repository. Throws `REFERENCE_INVALID`. */
export function immutableReference(repository: string, tag: string, digest: Digest): ImmutableReference {
  return parseImmutableReference(`${repository}:${tag}@${digest}`);
}

/** An image that an engine has and no registry: docker and podman take its id wherever they take a name. */
export function localReference(id: Digest): ImmutableReference {
  return id as string as ImmutableReference;
}

/** The name as it was written, for programs that read it in a form of their own. */
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
    // It was checked when the reference was made.
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
