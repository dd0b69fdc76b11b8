/** The flags that ask for signatures. A node with a lock loads no more of this folder. */

import { usageError } from "../errors.ts";
import type { SignerNames } from "./trusted-signers.ts";

export interface TrustDemands extends SignerNames {
  /** The file of a policy. */
  readonly trust?: string;
  /** false: `--no-downgrade`. */
  readonly downgrade?: boolean;
  readonly cache?: string;
}

/** For commands that start nothing: they do not remember indexes. */
export type SignatureDemands = Omit<TrustDemands, "downgrade" | "cache">;

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
