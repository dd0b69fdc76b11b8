/** Reads the parts of signatures and attestations from a registry, each of its stated size and all within one budget. */

import type { EvidenceReader } from "../oci/registry/client.ts";
import { ImgmatchError } from "../errors.ts";
import type { ProblemCode } from "../problem-codes.ts";
import { fieldsOf, parseJson, text, textsOf } from "../io/json.ts";
import { type Digest, isDigest, isSize } from "../oci/digest.ts";
import { withDigest } from "../oci/reference.ts";
import type { Manifest } from "../oci/descriptor.ts";
import { RegistryError } from "../oci/registry/registry-error.ts";
import { invalidSignature, type UnreadEvidence } from "./evidence.ts";
import type { Subject } from "../oci/descriptor.ts";

/** An unchecked descriptor. */
export interface NamedPart {
  readonly digest?: unknown;
  readonly size?: unknown;
}

/** A part that cannot be read. It hides no other part. */
export interface Unread extends UnreadEvidence {
  /** The error if no other part can be read. */
  readonly error: ImgmatchError;
}

export type PartReader = ReturnType<typeof partReader>;

/**
 * Its functions throw if the registry gives no answer.
 *
 * @param most bytes of all parts together
 */
export function partReader(registry: EvidenceReader, subject: Subject, most: number) {
  const { reference } = subject;
  let left = most;
  const refuse = (why: string): Unread => ({ format: "unread", why, error: invalidSignature(subject, why) });
  async function read<Content>(
    { digest, size }: NamedPart,
    mostOfOne: number,
    content: (digest: Digest, size: number) => Promise<Content>,
  ): Promise<Content | Unread> {
    if (!isDigest(digest) || !isSize(size)) return refuse("a part has no digest and size");
    if (size > mostOfOne) return refuse(`${digest} has ${size} bytes, the limit is ${mostOfOne}`);
    if (size > left) return refuse(`with ${digest} they have more than ${most} bytes together`);
    left -= size;
    try {
      return await content(digest, size);
    } catch (error) {
      if (isUnreadable(error)) return { format: "unread", why: error.problems[0].message, error };
      throw error;
    }
  }
  return {
    /** null if it was removed meanwhile. */
    manifest: (named: NamedPart) =>
      read(named, most, (digest, size) => registry.readManifest(withDigest(reference, digest), { size })),
    /** @param mostOfOne bytes */
    blob: (layer: unknown, mostOfOne: number) =>
      read(fieldsOf(layer), mostOfOne, async (digest, size) => {
        const pieces: Uint8Array[] = [];
        for await (const piece of registry.streamBlob(reference, digest, size)) pieces.push(piece);
        return Buffer.concat(pieces);
      }),
  };
}

export function layersOf({ bytes }: Manifest) {
  const { layers } = fieldsOf(parseJson(bytes));
  return (Array.isArray(layers) ? layers : []).map((layer) => {
    const { mediaType, annotations } = fieldsOf(layer);
    return { layer, mediaType: text(mediaType), notes: textsOf(annotations) };
  });
}

const damaged: readonly ProblemCode[] = ["REGISTRY_ANSWER_TOO_LARGE", "REGISTRY_DIGEST_MISMATCH"];

export function isUnread(content: object | null): content is Unread {
  return content !== null && "format" in content && content.format === "unread";
}

/** Anyone who may write to the registry can make such content. Any other error is the registry's. */
function isUnreadable(error: unknown): error is ImgmatchError {
  if (!(error instanceof ImgmatchError)) return false;
  return damaged.includes(error.code) || (error instanceof RegistryError && error.status === 404);
}
