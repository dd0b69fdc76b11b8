/** `imgmatch publish`: pushes what was built and not pushed, then writes the version's index. Builds nothing new. */

import { tellSigned } from "../tell-signed.ts";
import { type ExitCode, exitCodes } from "../../errors.ts";
import { isAdopted } from "../../lock/adopted-lock.ts";
import { readLockIfPresent } from "../../lock/lock-file.ts";
import type { CommandContext } from "../command-context.ts";
import { lockFileOf, openFleetFor, parseReplacements } from "../../fleet/fleet-choice.ts";
import { tellIndex } from "./tell-index.ts";
import { registryFor } from "../../oci/registry/registry-access.ts";
import { openSigner, signingFor } from "../../fleet/signing.ts";
import { type BuildFlags, checkProgress, exitCodeOf, runBuild } from "./run-builder.ts";
import { overFleets } from "../over-fleets.ts";

async function publish(flags: BuildFlags, context: CommandContext): Promise<ExitCode> {
  checkProgress(flags);
  const signer = await openSigner(flags, context);
  const lock = await readLockIfPresent(lockFileOf(flags));
  if (lock !== null && isAdopted(lock)) {
    const { publishAdopted } = await import("../../fleet/publish/publish-plan-index.ts");
    const registry = await registryFor(flags, { env: context.env });
    context.takeSignals("finish");
    const { replaceIndex: replace = false } = flags;
    const vouching = await signingFor(signer, lock.repository, registry, flags, context);
    const index = await publishAdopted(lock, {
      registry,
      replace,
      vouching: vouching ?? undefined,
      signal: context.signal,
    });
    tellSigned(vouching, flags, context);
    return tellIndex(index, flags, context);
  }
  const { fleet, only } = await openFleetFor(flags, context);
  const { publishFleet } = await import("../../fleet/publish-fleet.ts");
  // Not ended by an interruption: what is announced must be taken back.
  const registry = await registryFor(flags, { env: context.env });
  const vouching = await signingFor(signer, fleet.matrix.repository, registry, flags, context);
  const { pushed, index } = await publishFleet(fleet, {
    lockFile: lockFileOf(flags),
    only,
    replaceBases: parseReplacements(flags.replaceBase),
    registry,
    vouching: vouching ?? undefined,
    replace: flags.replaceIndex ?? false,
    push: (plan) => runBuild(plan, fleet, { ...flags, push: true }, context, { signer, signing: vouching }),
    onIndex: () => context.takeSignals("finish"),
    signal: context.signal,
  });
  tellSigned(vouching, flags, context);
  const failure = pushed === null ? exitCodes.ok : exitCodeOf(pushed);
  const done = index === null ? failure : tellIndex(index, flags, context);
  return failure === exitCodes.ok ? done : failure;
}

export const publishFleets = overFleets(publish, () => "lines");
