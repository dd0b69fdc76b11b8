/** Gives no name to what is not signed, and takes over nothing that a stranger has named. */

import type { Publisher } from "./build/publisher.ts";
import type { Digest } from "../oci/digest.ts";
import type { ImageReference } from "../oci/reference.ts";

export interface Signing {
  /** Signs what was pushed, by digest, before it has its name. */
  readonly sign: (pushed: Digest, place: ImageReference) => Promise<void>;
  /** Throws with exit code 6 where nobody who counts has signed what is under the name already. */
  readonly requireSigned: (image: ImageReference, digest: Digest) => Promise<void>;
}

/** The same publisher for who signs all that it publishes: whatever has a name is signed, wherever this is killed. */
export function signedPublisher(publisher: Publisher, { sign, requireSigned }: Signing): Publisher {
  return {
    async find(request) {
      const found = await publisher.find(request);
      if (found !== null) await requireSigned(request.reference, found.digest);
      return found;
    },
    async publish(request) {
      const examine = async (pushed: ImageReference) => {
        await request.examine?.(pushed);
        if (pushed.digest !== null) await sign(pushed.digest, pushed);
      };
      const published = await publisher.publish({ ...request, examine });
      if (published.how === "adopted") await requireSigned(request.reference, published.digest);
      return published;
    },
  };
}
