/** Who may have signed the fleets of which repositories, as a file says it. */

import type { Place } from "../../errors.ts";

export interface TrustPolicy {
  /** For messages; what the policy names lies beside it. */
  readonly file: string;
  readonly rules: readonly TrustRule[];
  /** What becomes of a repository that no rule names. */
  readonly otherwise: "refuse" | "unsigned";
  /** Folder of what was seen last, for rules that refuse to go back; null: the folder of `--cache`. */
  readonly memory: string | null;
}

export interface TrustRule {
  readonly pattern: RepositoryPattern;
  readonly at: Place;
  /** One of them is enough; `unsigned`: no signature is asked for. */
  readonly signers: readonly NamedSigner[] | "unsigned";
  /** What the index calls its fleet; null: the last part of the repository. */
  readonly name: string | null;
  /** Tags, with `*`, that may hold any version. */
  readonly moving: readonly string[];
  readonly downgrade: "allow" | "refuse";
}

/** Host and path apart: a `*` for paths that reached into the host would let anybody's registry in. */
export interface RepositoryPattern {
  readonly text: string;
  readonly host: string;
  readonly path: string;
}

/** A signer as it is written: keys are read when they are needed. */
export type NamedSigner = NamedKey | NamedIdentity;

export interface NamedKey {
  readonly kind: "key";
  /** A path, `env://NAME`, or the key itself as PEM. */
  readonly key: string;
  readonly at: Place;
}

export interface NamedIdentity {
  readonly kind: "identity";
  /** Of the certificate; `*` stands for any characters. */
  readonly identity: string;
  readonly issuer: string;
  /** A path; null for the public sigstore. */
  readonly trustedRoot: string | null;
  readonly at: Place;
}
