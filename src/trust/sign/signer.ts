/** The signer of images, and the keys and services that it signs with. Apart from make-signer.ts, which needs sigstore's types. */

import { ImgmatchError } from "../../errors.ts";
import type { SimpleSigning } from "../evidence.ts";
import type { TrustedSigner } from "../trusted-signers.ts";

export interface Signer {
  /** For messages. */
  readonly name: string;
  /** The signer as a trusted signer, to recognise earlier signatures by the same key; null if nothing here can verify them. */
  readonly asTrusted: () => Promise<TrustedSigner | null>;
  /** Signs a statement of in-toto and answers the bundle as JSON. Throws `SIGNING_FAILED`. */
  signStatement(statement: object): Promise<string>;
  /** Signs the payload of simple signing. Throws `SIGNING_FAILED`. */
  signPayload(payload: Uint8Array): Promise<SimpleSigning>;
}

/** For provenance. */
export type StatementSigner = Pick<Signer, "signStatement">;

export interface SigningKey {
  /** For people: a file, `env://NAME`, the address at a key service. */
  readonly name: string;
  /** SPKI as PEM. */
  readonly publicKey: string;
  sign(message: Uint8Array): Promise<Buffer>;
}

export interface SignServices {
  /** URL of a transparency log. Default: none with a key, the public one for an identity. */
  readonly rekorUrl?: string | undefined;
  /** URL of a timestamp authority. Default: none. */
  readonly timestampUrl?: string | undefined;
}

/** The error of a signer, or of a service that confirms its signature. */
export function signingFailed(who: string, why: string, fix: string, cause?: unknown): ImgmatchError {
  return new ImgmatchError({ code: "SIGNING_FAILED", message: `${who}: ${why}`, fix }, { cause });
}
