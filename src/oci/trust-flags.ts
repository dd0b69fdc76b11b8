/** The flags about signatures: whose are demanded, and who signs. */

import type { SignatureForm } from "../lock/lock.ts";
import type { Digest } from "./digest.ts";

/** The flags that name trusted signers. */
export interface SignerNames {
  /** Public keys: files, or `env://NAME`. */
  readonly key?: readonly string[];
  readonly identity?: string;
  readonly issuer?: string;
  /** Path of a `trusted_root.json`; without it the public sigstore's. */
  readonly trustedRoot?: string;
}

export interface TrustDemands extends SignerNames {
  /** The file of a policy. */
  readonly trust?: string;
  /** false: `--no-downgrade`. */
  readonly downgrade?: boolean;
  readonly cache?: string;
}

/** For commands that start nothing: they do not remember indexes. */
export type SignatureDemands = Omit<TrustDemands, "downgrade" | "cache">;

/** The forms of a signature under each flag. */
export const signatureFormats = {
  bundle: ["bundle"],
  tag: ["tag"],
  both: ["bundle", "tag"],
} as const satisfies Record<string, readonly SignatureForm[]>;

export type SignatureFormat = keyof typeof signatureFormats;

export interface SignerChoice {
  readonly sign?: boolean;
  /** A file, `env://NAME`, or an address that cosign understands. */
  readonly signKey?: string;
  readonly signFormat?: SignatureFormat;
  /** A file with a token of OpenID Connect. */
  readonly identityToken?: string;
  readonly fulcioUrl?: string;
  readonly rekorUrl?: string;
  readonly timestampUrl?: string;
  /** A file: `trusted_root.json`. */
  readonly signRoot?: string;
}

export interface SignedImages {
  readonly signed: readonly Digest[];
  /** This signer has signed them before: nothing was written. */
  readonly kept: readonly Digest[];
  /** Where signatures were written. With the default format a registry that takes no bundles has them under tags alone. */
  readonly forms: readonly SignatureForm[];
}

/** A program hands this to what trusts identities: one for nodes has no code that fetches. */
export interface RootSource {
  /** `trusted_root.json` of the public sigstore, for identities that name none. Throws `TRUSTED_ROOT_INVALID`. */
  readonly publicRoot: () => Promise<string>;
}
