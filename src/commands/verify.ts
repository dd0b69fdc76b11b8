/** `imgmatch verify`: whether the registry holds what the lock says. */

import { type ExitCode, exitCodes } from "../errors.ts";
import { isAdopted } from "../lock/adopted-lock.ts";
import type { Lock } from "../lock/lock.ts";
import { readLock } from "../lock/lock-file.ts";
import { parseImageReference } from "../oci/reference.ts";
import type { Sweep } from "../publish/sweep.ts";
import type { RegistryClient } from "../registry/client.ts";
import { sweepLines, verificationLines } from "../report/verification.ts";
import type { CommandContext } from "./context.ts";
import { type RegistryFlags, registryFor } from "./flags/registry.ts";
import { print } from "./print.ts";

export interface VerifyFlags extends RegistryFlags {
  readonly lock: string;
  readonly heal?: boolean;
  /** Remove transient tags. */
  readonly sweep?: boolean;
  readonly json?: boolean;
}

export async function verify(flags: VerifyFlags, context: CommandContext): Promise<ExitCode> {
  const lock = await readLock(flags.lock);
  const { verifyLock } = await import("../publish/verify-lock.ts");
  const registry = await registryFor(flags, context);
  // First, so that what is told is what is there afterwards.
  const swept = flags.sweep ? await sweepTags(lock, registry) : null;
  const verification = await verifyLock(lock, { registry, heal: flags.heal ?? false });
  print(context, flags, { schemaVersion: 1, ...verification, ...(swept && { swept }) }, (style) => [
    ...(swept === null ? [] : sweepLines(swept)),
    ...verificationLines(verification, { ...flags, adopted: isAdopted(lock) }, style),
  ]);
  return verification.drift.every(({ healed }) => healed) ? exitCodes.ok : exitCodes.failed;
}

async function sweepTags({ repository, images }: Lock, registry: RegistryClient): Promise<Sweep> {
  const { sweep } = await import("../publish/sweep.ts");
  const keep = new Set(Object.values(images).map(({ tag }) => tag));
  return sweep(parseImageReference(repository), { registry, keep });
}
