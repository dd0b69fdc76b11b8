/** A policy from its file, and the keys that it names. */

import { dirname, resolve } from "node:path";
import { ImgmatchError } from "../../errors.ts";
import { inputLimits } from "../../input/limits.ts";
import { readTextFile } from "../../io/files.ts";
import { findWritableByOthers } from "../../io/writable-by-others.ts";
import { identitySigner } from "../identity-signer.ts";
import { readKey } from "../read-key.ts";
import type { Signer } from "../signer.ts";
import { parseTrustPolicy } from "./parse-policy.ts";
import type { NamedSigner, TrustPolicy } from "./policy.ts";

/**
 * Throws `FILE_NOT_FOUND`, `TRUST_POLICY` with every mistake, and `TRUST_UNSAFE` where somebody beside this user and root can change
 * the file.
 */
export async function readTrustPolicy(file: string): Promise<TrustPolicy> {
  requireSafe(file);
  return parseTrustPolicy(await readTextFile(file, inputLimits.trustPolicy), file);
}

/** With what it names: paths are relative to the policy's folder, and not to be changed by others either. */
export async function readSigner(
  signer: NamedSigner,
  { file }: Pick<TrustPolicy, "file">,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Signer> {
  const besides = (path: string): string => {
    const found = resolve(dirname(resolve(file)), path);
    requireSafe(found);
    return found;
  };
  if (signer.kind === "identity") {
    const { identity, issuer, trustedRoot } = signer;
    return identitySigner(identity, issuer, trustedRoot === null ? null : besides(trustedRoot));
  }
  const { key, at } = signer;
  if (key.startsWith("-----BEGIN ")) return { kind: "key", name: `in ${at.file}:${at.line}`, pem: key };
  return readKey(key.startsWith("env://") ? key : besides(key), env);
}

function requireSafe(file: string): void {
  const found = findWritableByOthers([file]);
  if (found === null) return;
  const { path, why, byMode } = found;
  throw new ImgmatchError({
    code: "TRUST_UNSAFE",
    message: `${why}: who writes it says whom to trust`,
    fix: byMode ? `chmod go-w ${path}` : `chown root ${path}`,
    at: { file: path },
  });
}
