/** Reads a fleet from its registry, under the demands of flags and policies. Loads the registry client. */

import { parseImageReference } from "../oci/reference.ts";
import { fetchFleet } from "../lock/store/fetch-lock.ts";
import type { FetchedFleet } from "../lock/store/index-trust.ts";
import { note, type World } from "../io/world.ts";
import { registryFor } from "../oci/registry/registry-access.ts";
import type { RegistryAccess } from "../oci/registry/registry-flags.ts";
import type { RootSource, TrustDemands } from "../oci/trust-flags.ts";
import { trustFor } from "./trust-demands.ts";

export async function readRegistryFleet(
  reference: string,
  access: RegistryAccess,
  demands: TrustDemands,
  world: World & RootSource,
): Promise<FetchedFleet> {
  return fetchFleet(parseImageReference(reference), {
    // A node with an older answer should not wait long for a newer one.
    connect: (hasCache) =>
      registryFor(
        access,
        world,
        hasCache ? { timeoutMs: 5_000, retries: 1, patienceMs: 5_000 } : { timeoutMs: 15_000, retries: 3 },
      ),
    cache: demands.cache ?? null,
    trust: await trustFor(demands, world),
    tell: (message) => note(world, [message]),
  });
}
