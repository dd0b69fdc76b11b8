/** The flags that ask for signatures. A node with a lock loads no more of this folder. */

import type { TrustDemands } from "../oci/trust-flags.ts";
import { usageError } from "../errors.ts";
import type { SignerNames } from "../oci/trust-flags.ts";

/** Throws `USAGE` for demands on a lock: a lock is a file of the checkout, and nobody has signed it. */
export function refuseTrustWithoutRegistry(flags: TrustDemands): void {
  if (!asksTrust(flags)) return;
  throw usageError(
    "--key, --identity, --trust and --no-downgrade need a fleet from a registry",
    "name the fleet by its reference: registry/repository:version",
  );
}

/** A flag demands something. */
export function asksTrust({ trust, downgrade = true, ...flags }: TrustDemands): boolean {
  return namesSigner(flags) || trust !== undefined || !downgrade;
}

export function namesSigner({ key, identity, issuer, trustedRoot }: SignerNames): boolean {
  return [key?.[0], identity, issuer, trustedRoot].some((flag) => flag !== undefined);
}
