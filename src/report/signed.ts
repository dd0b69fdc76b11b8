/** Who vouches for an answer, for people. */

import type { SignedBy } from "../registry/index-trust.ts";

export function signedLine({ key, identity, digest }: SignedBy): string {
  const who = identity === null ? key : `${identity.name}, confirmed by ${identity.issuer}`;
  return `${digest} is signed by ${who}`;
}
