/** Names the signer of an index or image. */

import type { SignedBy } from "../../lock/index-trust.ts";

export function signedLine(signed: SignedBy): string {
  return `${signed.digest} is signed by ${whoOf(signed)}`;
}

function whoOf({ key, identity }: SignedBy): string {
  return identity === null ? `${key}` : `${identity.name}, confirmed by ${identity.issuer}`;
}
