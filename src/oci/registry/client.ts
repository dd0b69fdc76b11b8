/** Requests of imgmatch to an OCI registry. Only 404 means absent; everything else that is not success throws. */

import type { Digest } from "../digest.ts";
import type { ImageReference } from "../reference.ts";

export interface RegistryClient {
  /** Digest of a manifest by tag or digest, or null when the registry says 404. */
  findManifest(reference: ImageReference): Promise<ManifestDescriptor | null>;
  /**
   * The manifest's bytes, its digest checked, or null when the registry says 404. No more of it is read than `size`, which is what
   * names it says, or the longest manifest that there is.
   */
  readManifest(reference: ImageReference, size?: number): Promise<Manifest | null>;
  /**
   * Puts exactly these bytes under the reference's tag or digest and answers their digest. A tag is written once and never
   * tried again: meanwhile it may have been given to another, so the caller looks first. Throws `RegistryError`.
   */
  writeManifest(reference: ImageReference, manifest: Manifest): Promise<Digest>;
  /** Removes one tag, leaving the manifest. False where the registry does not offer that. */
  removeTag(reference: ImageReference): Promise<boolean>;
  /** Removes the manifest of the reference's digest with all its tags. False where the registry does not offer that, or has none. */
  removeManifest(reference: ImageReference): Promise<boolean>;
  /** A configuration's bytes, digest checked: 4 MiB at most. Throws when absent. */
  readBlob(repository: ImageReference, digest: Digest): Promise<Uint8Array>;
  /**
   * A blob of any size, piece by piece, its digest checked at the end: nothing that was made of it counts before the last piece
   * came. No more of it is read than `size`. Throws when absent.
   */
  streamBlob(repository: ImageReference, digest: Digest, size: number): AsyncIterable<Uint8Array>;
  /** All tags of a repository, by page; empty when the registry has no such repository. */
  listTags(repository: ImageReference): AsyncIterable<string>;
}

/** Reads the manifests that name an image as their subject: signatures, attestations (OCI distribution-spec, "Listing Referrers"). */
export interface ReferrersReader {
  /** null where the registry has no such API (404): then the tag `sha256-<hex>` lists them. Throws where the list does not end. */
  readReferrers(repository: ImageReference, subject: Digest): Promise<readonly Referrer[] | null>;
}

export interface Referrer extends ManifestDescriptor {
  readonly artifactType: string | null;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Writing what is small and held whole: a signature, a statement. */
export interface BlobWriter {
  /** Answers the digest of these bytes, which the repository has from then on. */
  writeBlob(repository: ImageReference, bytes: Uint8Array): Promise<Digest>;
}

/** The one write beside manifests: what an index names has to lie in the index's repository. */
export interface BlobCopier {
  /**
   * Brings a blob from one repository into another, of the same registry or of two. The copy is checked against its digest on
   * both sides. Throws `RegistryError`; the copy may then be begun anew.
   */
  copyBlob(
    from: ImageReference,
    to: ImageReference,
    blob: { readonly digest: Digest; readonly size: number },
  ): Promise<"there" | "mounted" | "sent">;
}

export interface ManifestDescriptor {
  readonly digest: Digest;
  readonly mediaType: string;
  /** Bytes. */
  readonly size: number;
}

export interface Manifest extends ManifestDescriptor {
  readonly bytes: Uint8Array;
}
