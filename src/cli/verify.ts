/** `imgmatch verify`: whether the registry holds what the lock says. */

import { type ExitCode, exitCodes, problemCodes } from "../errors.ts";
import { isAdopted } from "../lock/adopted-lock.ts";
import type { Lock } from "../lock/lock.ts";
import { readLock } from "../lock/lock-file.ts";
import { parseImageReference } from "../oci/reference.ts";
import type { Sweep } from "../fleet/publish/sweep.ts";
import type { SignedLock } from "../fleet/publish/verify-signed.ts";
import type { RegistryClient } from "../oci/registry/client.ts";
import type { FullRegistryClient } from "../oci/registry/create-client.ts";
import { provenanceLines } from "./report/provenance.ts";
import type { FindTrust, IndexReader } from "../lock/index-trust.ts";
import { signedLockLines } from "./report/signed.ts";
import { sweepLines, verificationLines } from "./report/verification.ts";
import type { ProvenanceVerification } from "../trust/provenance/verify-provenance.ts";
import type { CommandContext } from "./command-context.ts";
import { type RegistryAccess, registryFor } from "../oci/registry/registry-access.ts";
import { signaturesFor, signersFor, type TrustDemands } from "../trust/trust-demands.ts";
import { print } from "./print.ts";

export interface VerifyFlags extends RegistryAccess, TrustDemands {
  readonly lock: string;
  readonly heal?: boolean;
  /** Remove transient tags. */
  readonly sweep?: boolean;
  /** Compare what the lock says with what was attested. */
  readonly provenance?: boolean;
  readonly json?: boolean;
}

export async function verify(flags: VerifyFlags, context: CommandContext): Promise<ExitCode> {
  const lock = await readLock(flags.lock);
  const { verifyLock } = await import("../fleet/publish/verify-lock.ts");
  const registry = await registryFor(flags, context);
  // Before anything is changed: what nobody has signed is not healed.
  const trust = await signaturesFor(flags, context);
  const signed = trust === null ? null : await verifySignatures(lock, registry, trust);
  // First, so that what is told is what is there afterwards.
  const swept = flags.sweep ? await sweepTags(lock, registry) : null;
  const verification = await verifyLock(lock, { registry, heal: flags.heal ?? false });
  const provenance = flags.provenance ? await provenanceOf(lock, registry, flags, context) : null;
  const answer = {
    ...verification,
    ...(swept && { swept }),
    ...(provenance && { provenance }),
    ...(signed && { signed }),
  };
  print(context, flags, { schemaVersion: 1, ...answer }, (style) => [
    ...(swept === null ? [] : sweepLines(swept)),
    ...verificationLines(verification, { ...flags, adopted: isAdopted(lock) }, style),
    ...(signed === null ? [] : signedLockLines(signed)),
    ...(provenance === null ? [] : provenanceLines(provenance, style)),
  ]);
  const codes = (provenance?.images ?? []).flatMap(({ problems }) =>
    problems.map(({ code }) => problemCodes[code]),
  );
  if (verification.conflicts.length > 0 || codes.includes(exitCodes.conflict)) return exitCodes.conflict;
  const isDrifted = verification.drift.some(({ healed }) => !healed);
  return isDrifted || codes.length > 0 ? exitCodes.failed : exitCodes.ok;
}

async function provenanceOf(
  lock: Lock,
  registry: FullRegistryClient,
  flags: TrustDemands,
  context: CommandContext,
): Promise<ProvenanceVerification> {
  const { verifyProvenance } = await import("../trust/provenance/verify-provenance.ts");
  const demands = await signersFor(parseImageReference(lock.repository), flags, context);
  return verifyProvenance(lock, { registry, demands });
}

async function verifySignatures(
  lock: Lock,
  registry: IndexReader,
  trust: FindTrust,
): Promise<SignedLock | null> {
  const { verifySigned } = await import("../fleet/publish/verify-signed.ts");
  return verifySigned(lock, { registry, trust });
}

async function sweepTags({ repository, images }: Lock, registry: RegistryClient): Promise<Sweep> {
  const { sweep } = await import("../fleet/publish/sweep.ts");
  const keep = new Set(Object.values(images).map(({ tag }) => tag));
  return sweep(parseImageReference(repository), { registry, keep });
}
