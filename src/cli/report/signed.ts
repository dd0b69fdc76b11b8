/** Who vouches for an answer, for people. */

import type { SignedLock } from "../../fleet/publish/verify-signed.ts";
import type { SignedBy } from "../../lock/index-trust.ts";
import { count } from "../../io/table.ts";

export function signedLine(signed: SignedBy): string {
  return `${signed.digest} is signed by ${whoOf(signed)}`;
}

export function signedLockLines({ index, named, own }: SignedLock): readonly string[] {
  const signed = Object.entries(own);
  return [
    ...(index === null
      ? []
      : [`the index ${signedLine(index)}; it names ${count(named, "image")} of the lock`]),
    ...signed.map(([cell, by]) => `${cell}: ${signedLine(by)}`),
  ];
}

function whoOf({ key, identity }: SignedBy): string {
  return identity === null ? `${key}` : `${identity.name}, confirmed by ${identity.issuer}`;
}
