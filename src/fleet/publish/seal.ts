/** The port to signatures and provenance: who builds and publishes is handed the signer, and what attests. */

import type { World } from "../../io/world.ts";
import type { Lock, SignatureForm } from "../../lock/lock.ts";
import type { FindTrust } from "../../lock/store/index-trust.ts";
import type { BuildRecord } from "../../oci/build-record.ts";
import type { Subject } from "../../oci/descriptor.ts";
import type { Digest } from "../../oci/digest.ts";
import type { ImageReference } from "../../oci/reference.ts";
import type { AttachmentRegistry } from "../../oci/registry/attach.ts";
import type { EvidenceReader } from "../../oci/registry/client.ts";
import type { FullRegistryClient } from "../../oci/registry/create-client.ts";
import type { SignatureDemands, SignedImages, SignerChoice } from "../../oci/trust-flags.ts";
import type { ProvenanceVerification } from "../../oci/verified-provenance.ts";

export interface Vouching {
  /**
   * Signs these digests: the images and, last, the index, which the registry has by digest and no tag names yet. So a signed index never
   * has its tag before its signature. May be called again.
   */
  readonly vouch: (digests: readonly Digest[]) => Promise<void>;
  /** Throws if no accepted signer has signed the index, and the index has images of other publishers: ours must not vouch for them. */
  readonly requireVouched: (index: Digest) => Promise<void>;
}

/** `vouch` signs what is not signed yet, and puts back what another signer's write has dropped. */
export interface FleetSigner extends Vouching {
  /** Signs a statement of in-toto, and answers the bundle as JSON. Throws `SIGNING_FAILED`. */
  readonly signStatement: (statement: object) => Promise<string>;
  /** Signs what was pushed, by digest, before it has its tag. Answers where the signatures are. */
  readonly sign: (pushed: Digest, place: ImageReference) => Promise<readonly SignatureForm[]>;
  /** Throws with exit code 6 if no accepted signer has signed the image that has the tag already. */
  readonly requireSigned: (image: ImageReference, digest: Digest) => Promise<void>;
  readonly done: () => SignedImages;
}

/** What BuildKit attests of an image, in the index around it. */
export interface Attested {
  /** Provenance that can be read. */
  readonly found: readonly unknown[];
  /** Predicate types of all statements. */
  readonly attested: readonly string[];
}

export interface Sealing {
  /** null without `--sign`. Opens the key, so that its mistakes are told before anything is built. */
  readonly openSigner: (
    choice: SignerChoice,
    world: World,
  ) => Promise<((repository: string, registry: FullRegistryClient) => Promise<FleetSigner>) | null>;
  /** Attaches provenance, signed where there is a signer, and answers its digest. Throws `REGISTRY_…`, `SIGNING_FAILED`. */
  readonly attachProvenance: (
    record: BuildRecord,
    registry: AttachmentRegistry,
    how: { readonly signer: Pick<FleetSigner, "signStatement"> | null; readonly signal: AbortSignal },
  ) => Promise<Digest>;
  /** null if the registry does not have the image. Throws `REGISTRY_…`. */
  readonly findAttestations: (
    registry: EvidenceReader,
    subject: Subject,
    platform: string,
  ) => Promise<Attested | null>;
}

/** The port of who reads signatures. */
export interface Judging {
  /** The demands of flags and policies on a signature; null for none. */
  readonly signatureTrustFor: (flags: SignatureDemands, world: World) => Promise<FindTrust | null>;
  /** Holds each image of a lock against its provenance, which the demanded signers must have signed. */
  readonly verifyProvenance: (
    lock: Lock,
    registry: EvidenceReader,
    flags: SignatureDemands,
    world: World,
    onImage: () => void,
  ) => Promise<ProvenanceVerification>;
}
