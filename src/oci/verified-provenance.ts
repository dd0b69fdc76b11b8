/** What a lock says of images, held against their provenance. */

import type { Problem } from "../errors.ts";
import type { Digest } from "./digest.ts";

/** Two values of one claim. */
export interface ClaimDifference {
  /** `subject`, `inputs`, `base debian:12`, `fleet`, `matrix`, `cell`, `axes`, `platform`, `revision`, `engine`. */
  readonly claim: string;
  /** null: the lock names no such base. */
  readonly locked: string | null;
  /** null: the provenance names no such base. */
  readonly attested: string | null;
}

export interface ClaimComparison {
  readonly differences: readonly ClaimDifference[];
  /** Claims of the lock on which the provenance is silent. */
  readonly unstated: readonly string[];
}

/** `signed`: no signer was asked for, and none was checked. */
export type SignatureState = "unsigned" | "signed" | "verified";

/** The provenance of one image. */
export interface ImageProvenance extends ClaimComparison {
  readonly cell: string;
  readonly reference: string;
  readonly digest: Digest;
  /** The author of the compared statement; null if no statement counts. */
  readonly builtBy: "imgmatch" | "buildkit" | null;
  /** URI of the builder, as the statement has it. */
  readonly builder: string | null;
  readonly signature: SignatureState | null;
  /** `PROVENANCE_MISSING`, `PROVENANCE_MISMATCH`, or the fault of a signature; empty if lock and provenance agree. */
  readonly problems: readonly Problem[];
}

export interface ProvenanceVerification {
  readonly repository: string;
  /** Signatures were verified. */
  readonly signed: boolean;
  /** By cell, without images that were never pushed. */
  readonly images: readonly ImageProvenance[];
}
