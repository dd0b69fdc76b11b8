/** Whether the index of a fleet is believed: what vouches for it, and who asks for what. */

import type { Lock } from "./lock.ts";
import type { Digest } from "../oci/digest.ts";
import type { ImageReference } from "../oci/reference.ts";
import type { ReferrersReader, RegistryClient } from "../oci/registry/client.ts";

/** What is asked of a registry to read an index and what vouches for it. */
export type IndexReader = Pick<RegistryClient, "findManifest" | "readManifest" | "streamBlob"> &
  ReferrersReader;

/**
 * What is asked of a reference before anything is read; null for nothing. Throws with exit code 6 where it may not be used at all.
 */
export type FindTrust = (reference: ImageReference) => Promise<IndexTrust | null>;

export interface IndexTrust {
  /** Whether somebody has to have signed; else it is only about what was seen before. */
  readonly asksSignature: boolean;
  /** What the registry has that may vouch for this digest, as JSON data: a cache keeps it. Nothing of it is believed. */
  readonly collect: (registry: IndexReader, digest: Digest) => Promise<readonly unknown[]>;
  /** Who has signed this digest, an image's or an index's; null and errors as below. */
  readonly vouch: (digest: Digest, evidence: readonly unknown[]) => Promise<SignedBy | null>;
  /**
   * Who has signed; null where no signature is asked for. Throws with exit code 6 where this is not what was asked for, or nobody who
   * may has signed it.
   *
   * @param index what the index stands for; `matrixDigest` is its own digest
   * @param evidence of `collect`, or as it was kept
   * @param repository where the index says that it was published
   */
  readonly judge: (
    index: Lock,
    evidence: readonly unknown[],
    repository: string | null,
  ) => Promise<SignedBy | null>;
}

/** Who vouches for an answer. */
export interface SignedBy {
  /** The file or the variable of the key; null where an identity was asked for. */
  readonly key: string | null;
  /** What the certificate says; null where a key was asked for. */
  readonly identity: { readonly name: string; readonly issuer: string } | null;
  /** The index, or the image, that was signed. */
  readonly digest: Digest;
}

export interface FetchedFleet {
  readonly lock: Lock;
  /** Where its index says that it was published, without the registry; null where it does not say it. */
  readonly repository: string | null;
  /** Who vouches for it; null where no signature was asked for. */
  readonly signed: SignedBy | null;
}
