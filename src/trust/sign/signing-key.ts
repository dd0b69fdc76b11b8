/** Opens the private key that `--sign-key` names. */

import { createPrivateKey, createPublicKey, type KeyObject, scrypt, sign } from "node:crypto";
import { promisify } from "node:util";
import type { ImgmatchError } from "../../errors.ts";
import { checked, fields, oneOf, text, wholeNumber } from "../../io/checks.ts";
import { parseJson } from "../../io/json.ts";
import { base64 } from "../evidence.ts";
import { attempt } from "../../io/attempt.ts";
import { readTextFile } from "../../io/files.ts";
import { hashesOf, invalidKey } from "../public-key.ts";
import type { Environment } from "../../io/world.ts";
import { needsCosign, openCosignKey } from "./cosign-key.ts";
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
  const key = encrypted.test(pem)
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

/**
 * Private keys as `cosign generate-key-pair` writes them: PKCS#8 in a secretbox of NaCl, whose key is a password's scrypt. Both names that
 * cosign has had for it (sigstore/cosign, pkg/cosign/keys.go).
 */
const encrypted =
  /-----BEGIN ENCRYPTED (SIGSTORE|COSIGN) PRIVATE KEY-----\s+([A-Za-z0-9+/=\s]+)-----END ENCRYPTED \1 PRIVATE KEY-----/;

const encoded = text(base64, "base64");
const box = fields({
  kdf: fields({
    name: oneOf("scrypt"),
    params: fields({ N: wholeNumber, r: wholeNumber, p: wholeNumber }),
    salt: encoded,
  }),
  cipher: fields({ name: oneOf("nacl/secretbox"), nonce: encoded }),
  ciphertext: encoded,
});

/** cosign uses 64 MiB. A file must not make us use all memory. */
const mostMemory = 512 * 1024 * 1024;

/** Throws `KEY_INVALID` for the wrong password and for a damaged key. */
async function decryptKey(name: string, pem: string, password: string | undefined): Promise<KeyObject> {
  const json = parseJson(Buffer.from(encrypted.exec(pem)?.[2] ?? "", "base64"));
  const reading = checked(json, box, "the key");
  if (!reading.ok)
    throw invalidKey(name, `is damaged: ${reading.mistakes.join("; ")}`, "take it from where it is kept");
  const { kdf, cipher, ciphertext } = reading.value;
  const { N, r, p } = kdf.params;
  const isBounded = 128 * N * r <= mostMemory && p <= 16;
  if (isBounded && password === undefined) throw wrongPassword(name, password);
  const cost = { N, r, p, maxmem: mostMemory + 1024 * 1024 };
  const secret = isBounded
    ? await runScrypt(password ?? "", Buffer.from(kdf.salt, "base64"), 32, cost).catch(() => null)
    : null;
  if (secret === null)
    throw invalidKey(
      name,
      `wants scrypt with N=${N}, r=${r}, p=${p}`,
      "make a key with cosign generate-key-pair",
    );
  const { xsalsa20poly1305 } = await import("@noble/ciphers/salsa.js");
  const nonce = Buffer.from(cipher.nonce, "base64");
  const der = attempt(() => xsalsa20poly1305(secret, nonce).decrypt(Buffer.from(ciphertext, "base64")), null);
  if (der === null) throw wrongPassword(name, password);
  const key = attempt(() => createPrivateKey({ key: Buffer.from(der), format: "der", type: "pkcs8" }), null);
  if (key === null) throw invalidKey(name, "holds no PKCS#8 key", "make one with cosign generate-key-pair");
  return key;
}

const runScrypt = promisify<string, Buffer, number, object, Buffer>(scrypt);

function wrongPassword(name: string, password: string | undefined): ImgmatchError {
  return password === undefined
    ? invalidKey(name, "is encrypted", "give its password in COSIGN_PASSWORD")
    : invalidKey(name, "does not open with the password in COSIGN_PASSWORD", "check the password");
}
