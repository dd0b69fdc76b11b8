/** The publisher that writes to a registry. */

import type { Publisher } from "../build/publisher.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import { adoptImage, noted, publishImage } from "./publish-image.ts";
import type { Pace } from "./settle-tag.ts";

/** See {@link publishImage} for what is promised. */
export function registryPublisher(registry: RegistryClient, pace: Pick<Pace, "settleMs"> = {}): Publisher {
  return {
    async find(request) {
      const found = await adoptImage({ ...pace, ...request, registry });
      return found && noted(found);
    },
    publish: (request) => publishImage({ ...pace, ...request, registry }),
  };
}
