/** An identity as flags and policies name it, `*` standing for any characters. */

import { readTextFile } from "../io/files.ts";
import type { IdentitySigner } from "./trusted-signer.ts";

/** `trustedRoot`: path of a `trusted_root.json`, null for the public sigstore's. Throws `FILE_NOT_FOUND`. */
export async function identitySigner(
  identity: string,
  issuer: string,
  trustedRoot: string | null,
): Promise<IdentitySigner> {
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
