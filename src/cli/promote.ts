/** `imgmatch promote`: the images of one version under another, without building. */

import { tellSigned } from "./tell-signed.ts";
import { usageError, type ExitCode } from "../errors.ts";
import { readLock } from "../lock/lock-file.ts";
import { type ImageReference, parseImageReference, withTag } from "../oci/reference.ts";
import { versionTag } from "../fleet/cells/tag.ts";
import { promote as promoteFleet } from "../fleet/publish/promote.ts";
import { fetchLock } from "../lock/fetch-lock.ts";
import { tellIndex } from "./build/tell-index.ts";
import type { CommandContext } from "./command-context.ts";
import { type RegistryAccess, registryFor } from "../oci/registry/registry-access.ts";
import { openSigner, type SigningChoice, signingFor } from "../fleet/signing.ts";
import { signaturesFor, type TrustDemands } from "../trust/trust-demands.ts";
import { tell } from "./print.ts";

export interface PromoteFlags extends RegistryAccess, TrustDemands, SigningChoice {
  /** A version of the lock's repository, or a reference. */
  readonly from: string;
  readonly to: string;
  readonly lock: string;
  readonly replaceIndex?: boolean;
  readonly json?: boolean;
}

export async function promote(flags: PromoteFlags, context: CommandContext): Promise<ExitCode> {
  const { to, replaceIndex: replace = false } = flags;
  if (to.includes("/") || to.includes("@"))
    throw usageError(`${to} is no version`, "name the new version alone: it stays in its repository");
  const signer = await openSigner(flags, context);
  // Not ended by an interruption: what is announced must be taken back.
  const registry = await registryFor(flags, { env: context.env });
  const fleet = await fetchLock(await referenceOf(flags), {
    connect: async () => registry,
    cache: null,
    trust: await signaturesFor(flags, context),
    now: () => new Date(),
    tell: (line) => tell([line], context),
  });
  context.takeSignals("finish");
  const vouching = await signingFor(signer, fleet.repository, registry, flags, context);
  // Whoever may write the version that it comes from chooses what is signed.
  await vouching?.requireVouched(fleet.matrixDigest);
  const index = await promoteFleet(fleet, to, {
    registry,
    replace,
    vouching: vouching ?? undefined,
    signal: context.signal,
  });
  tellSigned(vouching, flags, context);
  return tellIndex(index, flags, context);
}

async function referenceOf({ from, lock }: PromoteFlags): Promise<ImageReference> {
  if (from.includes("/")) return parseImageReference(from);
  const { repository } = await readLock(lock);
  return withTag(parseImageReference(repository), versionTag({ version: from }));
}
