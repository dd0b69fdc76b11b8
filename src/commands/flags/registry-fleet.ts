/** The fleet of a reference, in place of a lock. Loaded only where a reference is given: it brings the registry client. */

import type { Lock } from "../../lock/lock.ts";
import { parseImageReference } from "../../oci/reference.ts";
import { printableReport } from "../../input/printable.ts";
import { fetchLock } from "../../registry/fetch-lock.ts";
import type { CommandContext } from "../context.ts";
import { type RegistryFlags, registryFor } from "./registry.ts";

export interface RegistryFleetFlags extends RegistryFlags {
  /** `registry/repo:version`, in place of a lock. */
  readonly from?: string;
  /** Folder of the last good answers. */
  readonly cache?: string;
}

export function readRegistryFleet(
  reference: string,
  { cache, ...flags }: RegistryFleetFlags,
  context: CommandContext,
): Promise<Lock> {
  return fetchLock(parseImageReference(reference), {
    // A node that has an older answer should not wait long for a newer one.
    connect: (hasCache) =>
      registryFor(
        flags,
        context,
        hasCache ? { timeoutMs: 5_000, retries: 1 } : { timeoutMs: 15_000, retries: 3 },
      ),
    cache: cache ?? null,
    now: () => new Date(),
    tell: (message) => context.err(printableReport([message])),
  });
}
