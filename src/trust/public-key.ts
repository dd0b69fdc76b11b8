/** Reads public keys as cosign does, and verifies signatures by Node's own cryptography: a node waits for this. */

import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import { ImgmatchError } from "../errors.ts";
import { attempt } from "../io/attempt.ts";
import type { TrustedKey } from "./trusted-signers.ts";

export interface PublicKey {
  readonly key: KeyObject;
  /** Base64 of the SHA-256 of the key as DER: how a bundle names it. */
  readonly hint: string;
  /** Hashes that this key may sign with; null where the algorithm has its own. */
  readonly hashes: readonly (string | null)[];
}

/**
 * cosign signs with the hash of the curve's strength. Its `verify --key` takes SHA-256 alone unless `--signature-digest-algorithm` names
 * another (2.6.5 and 3.1.3). So every verifier takes the first of a list.
 */
const curves: Readonly<Record<string, readonly string[]>> = {
  prime256v1: ["sha256"],
  secp384r1: ["sha256", "sha384"],
  secp521r1: ["sha256", "sha512"],
};
const leastRsaBits = 2048;

/** Throws `KEY_INVALID` for anything but a public key of a supported kind. */
export function parsePublicKey({ name, pem }: Pick<TrustedKey, "name" | "pem">): PublicKey {
  if (/PRIVATE KEY-----/.test(pem))
    throw invalidKey(name, "is a private key", "name the public one: cosign.pub");
  const key = attempt(() => createPublicKey(pem), null);
  if (key === null) throw invalidKey(name, "is no public key as PEM", "name a file as cosign.pub");
  const hint = createHash("sha256").update(key.export({ type: "spki", format: "der" }));
  return { key, hint: hint.digest("base64"), hashes: hashesOf(name, key) };
}

/** The hashes that a key may sign with. imgmatch signs with the first. Throws `KEY_INVALID`. */
export function hashesOf(name: string, key: KeyObject): readonly (string | null)[] {
  const { namedCurve = "", modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  const type = key.asymmetricKeyType ?? "none";
  if (type === "ed25519") return [null];
  if (type === "rsa" && modulusLength >= leastRsaBits) return ["sha256"];
  const hashes = type === "ec" ? curves[namedCurve] : undefined;
  if (hashes !== undefined) return hashes;
  const more = type === "ec" ? ` ${namedCurve}` : type === "rsa" ? ` with ${modulusLength} bits` : "";
  throw invalidKey(
    name,
    `is a key of ${type}${more}`,
    "use one of EC P-256, P-384 or P-521, of Ed25519, or of RSA with 2048 bits or more",
  );
}

export async function isSignedBy(
  { key, hashes }: PublicKey,
  message: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  // Signatures of the wrong shape make OpenSSL throw.
  if (hashes.some((hash) => attempt(() => verify(hash, message, key, signature), false))) return true;
  if (key.asymmetricKeyType !== "ed25519") return false;
  // cosign signs the hash of the message (RFC 8032, 5.1, Ed25519ph), which Node's OpenSSL does not know.
  const { ed25519ph } = await import("@noble/curves/ed25519.js");
  const raw = key.export({ type: "spki", format: "der" }).subarray(-32);
  return attempt(() => ed25519ph.verify(signature, message, raw), false);
}

export function invalidKey(name: string, what: string, fix: string): ImgmatchError {
  return new ImgmatchError({ code: "KEY_INVALID", message: `${name} ${what}`, fix });
}
