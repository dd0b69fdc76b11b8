/** The fleet of a reference, in place of a lock. Loaded only where a reference is given: it brings the registry client. */

import { parseImageReference } from "../../oci/reference.ts";
import { printableReport } from "../../printable.ts";
import { fetchFleet } from "../../lock/fetch-lock.ts";
import type { FetchedFleet } from "../../lock/index-trust.ts";
import type { CommandContext } from "../command-context.ts";
import { type RegistryFlags, registryFor } from "./registry.ts";
import { type TrustFlags, trustFor } from "./trust.ts";

export interface RegistryFleetFlags extends RegistryFlags, TrustFlags {
  /** `registry/repo:version`, in place of a lock. */
  readonly from?: string;
  /** Folder of the last good answers. */
  readonly cache?: string;
}

export async function readRegistryFleet(
  reference: string,
  flags: RegistryFleetFlags,
  context: CommandContext,
): Promise<FetchedFleet> {
  return fetchFleet(parseImageReference(reference), {
    // A node that has an older answer should not wait long for a newer one.
    connect: (hasCache) =>
      registryFor(
        flags,
        context,
        hasCache ? { timeoutMs: 5_000, retries: 1 } : { timeoutMs: 15_000, retries: 3 },
      ),
    cache: flags.cache ?? null,
    trust: await trustFor(flags, context),
    now: () => new Date(),
    tell: (message) => context.err(printableReport([message])),
  });
}
