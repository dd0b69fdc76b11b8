/** A signer that a policy names, with its key. */

import { dirname, resolve } from "node:path";
import { identitySigner } from "../trusted-identity.ts";
import { readKey } from "../read-key.ts";
import type { Signer } from "../trusted-signer.ts";
import type { NamedSigner, TrustPolicy } from "./policy.ts";
import { requireSafe } from "./require-safe.ts";

/** Paths are relative to the policy's folder. Throws as `readKey` does, and `TRUST_UNSAFE` for a key that others may change. */
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
