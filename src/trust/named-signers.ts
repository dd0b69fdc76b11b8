/** Who may have signed, as flags name them: keys, or one identity of a certificate. */

import { usageError } from "../errors.ts";
import { identitySigner } from "./trusted-identity.ts";
import { readKey } from "./read-key.ts";
import type { Signer } from "./trusted-signer.ts";

export interface SignerNames {
  /** Files, or `env://NAME`. */
  readonly keys: readonly string[];
  readonly identity: string | undefined;
  readonly issuer: string | undefined;
  /** Path of a `trusted_root.json`; undefined for the public sigstore's. */
  readonly trustedRoot: string | undefined;
}

/** One of them is enough. Throws `USAGE` for half an identity, `FILE_NOT_FOUND`, `KEY_INVALID`. */
export async function namedSigners(
  { keys, identity, issuer, trustedRoot }: SignerNames,
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly Signer[]> {
  const signers: Signer[] = await Promise.all(keys.map((key) => readKey(key, env)));
  if (identity !== undefined && issuer !== undefined)
    return [...signers, await identitySigner(identity, issuer, trustedRoot ?? null)];
  if (identity !== undefined)
    throw usageError(
      `--identity ${identity} does not say who confirms it`,
      "add --issuer, for example https://token.actions.githubusercontent.com",
    );
  if (issuer !== undefined)
    throw usageError(`--issuer ${issuer} confirms many identities`, "add --identity with the one that signs");
  if (trustedRoot !== undefined)
    throw usageError("--trusted-root is for identities", "add --identity and --issuer");
  return signers;
}
