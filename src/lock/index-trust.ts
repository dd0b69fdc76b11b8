/** Trust in the index of a fleet: the evidence that vouches for it, and the demands on it. */

import type { Lock } from "./lock.ts";
import type { Digest } from "../oci/digest.ts";
import type { ImageReference } from "../oci/reference.ts";
import type { ReferrersReader, RegistryClient } from "../oci/registry/client.ts";

/** The requests that read an index and its evidence. */
export type IndexReader = Pick<RegistryClient, "findManifest" | "readManifest" | "streamBlob"> &
  ReferrersReader;

/** Finds the demands on a reference before anything is read; null for none. Throws with exit code 6 if it may not be used at all. */
export type FindTrust = (reference: ImageReference) => Promise<IndexTrust | null>;

export interface IndexTrust {
  /** Whether somebody has to have signed; else it is only about what was seen before. */
  readonly asksSignature: boolean;
  /** Collects the evidence for this digest from the registry, as JSON data: a cache keeps it. Nothing of it is believed. */
  readonly collect: (registry: IndexReader, digest: Digest) => Promise<readonly unknown[]>;
  /** Answers with the signer of this digest, an image's or an index's; null and errors as below. */
  readonly vouch: (digest: Digest, evidence: readonly unknown[]) => Promise<SignedBy | null>;
  /**
   * Answers with the signer; null if no signature is asked for. Throws with exit code 6 if this is not the index that was asked for, or no
   * accepted signer has signed it.
   *
   * @param index the lock that the index stands for; `matrixDigest` is its own digest
   * @param evidence of `collect`, or as it was kept
   * @param repository the repository in which the index says that it was published
   */
  readonly judge: (
    index: Lock,
    evidence: readonly unknown[],
    repository: string | null,
  ) => Promise<SignedBy | null>;
}

/** The signer that vouches for an answer. */
export interface SignedBy {
  /** The file or the variable of the key; null where an identity was asked for. */
  readonly key: string | null;
  /** The identity in the certificate; null if a key was asked for. */
  readonly identity: { readonly name: string; readonly issuer: string } | null;
  /** The index, or the image, that was signed. */
  readonly digest: Digest;
}

export interface FetchedFleet {
  readonly lock: Lock;
  /** The repository in which its index says that it was published, without the registry; null if it does not say so. */
  readonly repository: string | null;
  /** The signer that vouches for it; null if no signature was asked for. */
  readonly signed: SignedBy | null;
}
