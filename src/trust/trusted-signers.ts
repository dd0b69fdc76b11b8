/** The signers whom we trust: the holder of a key, or an identity that a certificate authority has confirmed. */

import type { SignerNames } from "../oci/trust-flags.ts";
import { ImgmatchError, usageError } from "../errors.ts";
import { readTextFile } from "../io/files.ts";
import { matchesGlob } from "../io/glob.ts";
import type { Environment } from "../io/world.ts";
import { requireOwn } from "../io/writable-by-others.ts";

export type TrustedSigner = TrustedKey | TrustedIdentity;

export interface TrustedKey {
  readonly kind: "key";
  /** For people: the file, or the variable. */
  readonly name: string;
  /** A public key: SPKI as PEM, as `cosign.pub` has it. EC P-256, P-384, P-521, Ed25519, RSA from 2048 bits. */
  readonly pem: string;
}

/** A text must be equal, an expression must match the whole name, and `*` of a `glob` stands for any characters. */
export type WantedName = string | RegExp | { readonly glob: string };

export interface TrustedIdentity {
  readonly kind: "identity";
  /** The certificate's subject alternative name: an e-mail address, or the URI of a workflow. */
  readonly identity: WantedName;
  /** The issuer that confirmed it: `https://token.actions.githubusercontent.com`. */
  readonly issuer: WantedName;
  /** `trusted_root.json` as text: the authorities and logs that count. null: those of the public sigstore, by TUF. */
  readonly trustedRoot: string | null;
}

/** For messages. */
export function describeTrusted(signer: TrustedSigner): string {
  return signer.kind === "key"
    ? `the key ${signer.name}`
    : `${shown(signer.identity)}, confirmed by ${shown(signer.issuer)}`;
}

/** Matches the whole name, whatever anchors a pattern has. */
export function isNamed(name: string, wanted: WantedName): boolean {
  if (typeof wanted === "string") return name === wanted;
  if ("glob" in wanted) return matchesGlob(wanted.glob, name);
  return new RegExp(`^(?:${wanted.source})$`, wanted.flags.replace(/[gy]/g, "")).test(name);
}

function shown(wanted: WantedName): string {
  if (typeof wanted === "string") return wanted;
  return "glob" in wanted ? wanted.glob : `/${wanted.source}/`;
}

/** The signature of one is enough. Throws `USAGE` for half an identity, `FILE_NOT_FOUND`, `KEY_INVALID`. */
export async function readTrustedSigners(
  { key = [], identity, issuer, trustedRoot }: SignerNames,
  env: Environment,
): Promise<readonly TrustedSigner[]> {
  const signers: TrustedSigner[] = await Promise.all(key.map((each) => readTrustedKey(each, env)));
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
    identity: wantedName(identity),
    issuer: wantedName(issuer),
    trustedRoot:
      trustedRoot === null
        ? null
        : await readTextFile(trustedRoot, null, { fix: "name a trusted_root.json" }),
  };
}

function wantedName(text: string): WantedName {
  return text.includes("*") ? { glob: text } : text;
}

const variable = /^env:\/\/([A-Za-z_]\w*)$/;

/**
 * `cosign.pub`, or `env://NAME`. Throws `FILE_NOT_FOUND`, and `KEY_INVALID` for a variable that is not set. The key itself is parsed when
 * something is verified.
 */
export async function readTrustedKey(name: string, env: Environment): Promise<TrustedKey> {
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

/** Throws `TRUST_UNSAFE` if a user besides this one and root can change the file, or a folder above. */
export function requireSafe(file: string): void {
  requireOwn([file], "TRUST_UNSAFE", "it decides whom to trust", { fix: (path) => `chown root ${path}` });
}
