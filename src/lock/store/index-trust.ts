/** The demands on the index of a fleet: who must have signed the index, and which fleet and tag it must be for. `trust/` makes them. */

import type { IndexLock } from "../lock.ts";
import type { Digest } from "../../oci/digest.ts";
import type { ImageReference } from "../../oci/reference.ts";
import type { ReferrersReader, RegistryClient } from "../../oci/registry/client.ts";

/** The requests that read an index and its signatures. */
export type IndexReader = Pick<RegistryClient, "findManifest" | "readManifest" | "streamBlob"> &
  ReferrersReader;

/** Finds the demands on a reference before anything is read; null for none. Throws with exit code 6 for a reference that a policy forbids. */
export type FindTrust = (reference: ImageReference) => Promise<IndexTrust | null>;

export interface IndexTrust {
  /** false if only older indexes are refused. */
  readonly asksSignature: boolean;
  /** Collects the signatures of this digest from the registry, unchecked, as JSON data that a cache can keep. */
  readonly collect: (registry: IndexReader, digest: Digest) => Promise<readonly unknown[]>;
  /** Answers with the signer of an image or an index by its digest; null and errors as below. */
  readonly vouch: (digest: Digest, evidence: readonly unknown[]) => Promise<SignedBy | null>;
  /**
   * Answers with the signer; null if no signature is asked for. Throws with exit code 6 for an index that no trusted signer has signed, and
   * for an index of another fleet, repository or tag than the reference names.
   *
   * @param index the index as a lock
   * @param evidence of `collect`, perhaps from a cache
   * @param place where the index says that it belongs
   */
  readonly judge: (
    index: IndexLock,
    evidence: readonly unknown[],
    place: IndexPlace,
  ) => Promise<SignedBy | null>;
}

/** The place for which an index was written. */
export interface IndexPlace {
  /** Without the registry; null if the index names none. */
  readonly repository: string | null;
  /** null if the index names none. */
  readonly tag: string | null;
}

/** The trusted signer of an answer. */
export interface SignedBy {
  /** The file or the variable of the key; null if an identity was asked for. */
  readonly key: string | null;
  /** The identity in the certificate; null if a key was asked for. */
  readonly identity: { readonly name: string; readonly issuer: string } | null;
  /** The digest that was signed: of the index or of the image. */
  readonly digest: Digest;
}

export interface FetchedFleet extends IndexPlace {
  readonly lock: IndexLock;
  /** null if no signature was asked for. */
  readonly signed: SignedBy | null;
}
