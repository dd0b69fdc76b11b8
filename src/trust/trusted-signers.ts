/** Signers that flags name: keys, or one identity of a certificate. */

import { ImgmatchError, usageError } from "../errors.ts";
import { readTextFile } from "../io/files.ts";
import type { TrustedIdentity, TrustedKey, TrustedSigner } from "./trusted-signer.ts";

export interface SignerNames {
  /** Files, or `env://NAME`. */
  readonly keys: readonly string[];
  readonly identity: string | undefined;
  readonly issuer: string | undefined;
  /** Path of a `trusted_root.json`; undefined for the public sigstore's. */
  readonly trustedRoot: string | undefined;
}

/** One of them is enough. Throws `USAGE` for half an identity, `FILE_NOT_FOUND`, `KEY_INVALID`. */
export async function readTrustedSigners(
  { keys, identity, issuer, trustedRoot }: SignerNames,
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly TrustedSigner[]> {
  const signers: TrustedSigner[] = await Promise.all(keys.map((key) => readTrustedKey(key, env)));
  if (identity !== undefined && issuer !== undefined)
    return [...signers, await readTrustedIdentity(identity, issuer, trustedRoot ?? null)];
  if (identity !== undefined)
    throw usageError(
      `--identity ${identity} has no issuer`,
      "add --issuer, for example https://token.actions.githubusercontent.com",
    );
  if (issuer !== undefined)
    throw usageError(`--issuer ${issuer} confirms many identities`, "add --identity with the one that signs");
  if (trustedRoot !== undefined)
    throw usageError("--trusted-root needs --identity", "add --identity and --issuer");
  return signers;
}

/** `trustedRoot`: path of a `trusted_root.json`, null for the public sigstore's. Throws `FILE_NOT_FOUND`. */
export async function readTrustedIdentity(
  identity: string,
  issuer: string,
  trustedRoot: string | null,
): Promise<TrustedIdentity> {
  return {
    kind: "identity",
    identity: patternOf(identity),
    issuer: patternOf(issuer),
    trustedRoot:
      trustedRoot === null
        ? null
        : await readTextFile(trustedRoot, null, { fix: "name a trusted_root.json" }),
  };
}

function patternOf(text: string): string | RegExp {
  if (!text.includes("*")) return text;
  const parts = text.split("*").map((part) => part.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  return new RegExp(parts.join("[^]*"));
}

const variable = /^env:\/\/([A-Za-z_]\w*)$/;

/**
 * `cosign.pub`, or `env://NAME`. Throws `FILE_NOT_FOUND`, and `KEY_INVALID` for a variable that is not set. Its value is
 * not looked at: a key is read when something is verified.
 */
export async function readTrustedKey(
  name: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<TrustedKey> {
  if (!name.startsWith("env://")) {
    const pem = await readTextFile(name, null, { fix: "name a public key, as cosign.pub" });
    return { kind: "key", name, pem };
  }
  const [, wanted = ""] = variable.exec(name) ?? [];
  const pem = Object.hasOwn(env, wanted) ? (env[wanted] ?? "") : "";
  if (pem.trim() !== "") return { kind: "key", name, pem };
  throw new ImgmatchError({
    code: "KEY_INVALID",
    message: `${name} names a variable of the environment that is not set`,
    fix: "set it to a public key as PEM",
  });
}
