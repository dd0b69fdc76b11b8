/** The signer of images, and the keys and services that it signs with. The code that makes one has types that a user of the library lacks. */

import type { SimpleSigning } from "../evidence.ts";
import type { TrustedSigner } from "../trusted-signers.ts";

export interface Signer {
  /** For messages. */
  readonly name: string;
  /** By which its own signatures are known again; null where nothing here can check them. */
  readonly signer: () => Promise<TrustedSigner | null>;
  /** Signs a statement of in-toto, which is given as the object that it is, and answers the bundle as JSON. Throws `SIGNING_FAILED`. */
  signStatement(statement: object): Promise<string>;
  /** The same of simple signing's payload. */
  signPayload(payload: Uint8Array): Promise<SimpleSigning>;
}

/** Signs statements alone, as those of provenance. */
export type StatementSigner = Pick<Signer, "signStatement">;

export interface SigningKey {
  /** The name for people: a file, `env://NAME`, the address at a key service. */
  readonly name: string;
  /** SPKI as PEM. */
  readonly publicKey: string;
  sign(message: Uint8Array): Promise<Buffer>;
}

export interface SignServices {
  /** Of a transparency log. Default: none with a key, the public one for an identity. */
  readonly rekorUrl?: string | undefined;
  /** Of a timestamp authority. Default: none. */
  readonly timestampUrl?: string | undefined;
}
