/** Private keys as `cosign generate-key-pair` writes them: PKCS#8 in a secretbox of NaCl, whose key is a password's scrypt. */

import { createPrivateKey, type KeyObject, scrypt } from "node:crypto";
import { promisify } from "node:util";
import { checked, fields, oneOf, text, wholeNumber } from "../../io/checks.ts";
import { parseJson } from "../../io/json.ts";
import { attempt } from "../../io/attempt.ts";
import { base64 } from "../evidence.ts";
import { invalidKey, wrongPassword } from "./key-mistakes.ts";

/** Both names that cosign has had for it (sigstore/cosign, pkg/cosign/keys.go). */
const pattern =
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

/** cosign takes 64 MiB; a file must not make us take all there is. */
const mostMemory = 512 * 1024 * 1024;

export function isEncrypted(pem: string): boolean {
  return pattern.test(pem);
}

/** Throws `KEY_INVALID` for the wrong password and for what is no such key. */
export async function decryptKey(
  name: string,
  pem: string,
  password: string | undefined,
): Promise<KeyObject> {
  const json = parseJson(Buffer.from(pattern.exec(pem)?.[2] ?? "", "base64"));
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
