/** `imgmatch verify`: whether the registry holds what the lock says. */

import { type ExitCode, exitCodes } from "../errors.ts";
import { isAdopted } from "../lock/adopted-lock.ts";
import { readLock } from "../lock/lock-file.ts";
import { printableReport } from "../input/printable.ts";
import { styleFor } from "../report/style.ts";
import { verificationLines } from "../report/verification.ts";
import type { CommandContext } from "./context.ts";
import { type RegistryFlags, registryFor } from "./flags/registry.ts";
import { print } from "./print.ts";

export interface VerifyFlags extends RegistryFlags {
  readonly lock: string;
  readonly heal?: boolean;
  readonly json?: boolean;
}

export async function verify(flags: VerifyFlags, context: CommandContext): Promise<ExitCode> {
  const lock = await readLock(flags.lock);
  const { verifyLock } = await import("../publish/verify-lock.ts");
  const registry = await registryFor(flags, context);
  const verification = await verifyLock(lock, { registry, heal: flags.heal ?? false });
  print(context, flags, { schemaVersion: 1, ...verification }, () =>
    printableReport(
      verificationLines(
        verification,
        { ...flags, adopted: isAdopted(lock) },
        styleFor(context.terminal.color.out),
      ),
    ),
  );
  return verification.drift.every(({ healed }) => healed) ? exitCodes.ok : exitCodes.failed;
}
