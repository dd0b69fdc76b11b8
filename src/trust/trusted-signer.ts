/** Whom a signature may be of: the holder of a key, or an identity that a certificate authority has confirmed. */

export type TrustedSigner = TrustedKey | TrustedIdentity;

export interface TrustedKey {
  readonly kind: "key";
  /** The name for people: the file's. */
  readonly name: string;
  /** A public key: SPKI as PEM, as `cosign.pub` has it. EC P-256, P-384, P-521, Ed25519, RSA from 2048 bits. */
  readonly pem: string;
}

/** A text has to be equal, a pattern has to match the whole of it. */
export interface TrustedIdentity {
  readonly kind: "identity";
  /** The certificate's subject alternative name: an e-mail address, or the URI of a workflow. */
  readonly identity: string | RegExp;
  /** The issuer that confirmed it: `https://token.actions.githubusercontent.com`. */
  readonly issuer: string | RegExp;
  /** `trusted_root.json` as text: the authorities and logs that count. null: those of the public sigstore, by TUF. */
  readonly trustedRoot: string | null;
}

/** For messages. */
export function describeTrusted(signer: TrustedSigner): string {
  return signer.kind === "key"
    ? `the key ${signer.name}`
    : `${shown(signer.identity)}, confirmed by ${shown(signer.issuer)}`;
}

/** Whether a name is the one that is asked for: all of it, whatever anchors a pattern has. */
export function isNamed(name: string, wanted: string | RegExp): boolean {
  if (typeof wanted === "string") return name === wanted;
  return new RegExp(`^(?:${wanted.source})$`, wanted.flags.replace(/[gy]/g, "")).test(name);
}

function shown(wanted: string | RegExp): string {
  return typeof wanted === "string" ? wanted : `/${wanted.source}/`;
}
