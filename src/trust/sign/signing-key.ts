/** A key that signs: where it lies, and how it is opened. */

import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import { attempt } from "../../io/attempt.ts";
import { readTextFile } from "../../io/files.ts";
import { hashesOf } from "../public-key.ts";
import type { Environment } from "../../io/world.ts";
import { openCosignKey, needsCosign } from "./cosign-key.ts";
import { decryptKey, isEncrypted } from "./encrypted-key.ts";
import { invalidKey, wrongPassword } from "./key-mistakes.ts";
import type { SigningKey } from "./signer.ts";

/**
 * Opens the key that `--sign-key` names: a file or `env://NAME` with a private key, as PKCS#8 or as `cosign generate-key-pair` writes
 * it, with the password in COSIGN_PASSWORD; or an address that the program `cosign` understands (`awskms://…`, `pkcs11:…`).
 *
 * Throws `FILE_NOT_FOUND`, `KEY_INVALID`, `COSIGN_NOT_FOUND`, `SIGNING_FAILED`.
 */
export async function openSigningKey(name: string, env: Environment): Promise<SigningKey> {
  if (needsCosign(name)) return openCosignKey(name, env);
  const variable = /^env:\/\/(.*)$/s.exec(name)?.[1];
  const pem =
    variable === undefined
      ? await readTextFile(name, null, { fix: "name the private key with --sign-key" })
      : env[variable];
  if (pem === undefined || pem === "")
    throw invalidKey(name, "is empty or not set", `export ${variable ?? "the key"}`);
  return privateKey(name, pem, env);
}

async function privateKey(name: string, pem: string, env: Environment): Promise<SigningKey> {
  const password = env.COSIGN_PASSWORD;
  const key = isEncrypted(pem)
    ? await decryptKey(name, pem, password)
    : attempt(() => createPrivateKey({ key: pem, format: "pem", passphrase: password ?? "" }), null);
  if (key === null) {
    const isLocked = /ENCRYPTED/.test(pem);
    throw isLocked
      ? wrongPassword(name, password)
      : invalidKey(name, "is no private key as PEM", "name one as cosign generate-key-pair writes it");
  }
  const [hash = null] = hashesOf(name, key);
  return {
    name,
    publicKey: createPublicKey(key).export({ type: "spki", format: "pem" }).toString(),
    sign: async (message) => sign(hash, message, key),
  };
}
