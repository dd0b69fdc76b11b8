/** Signs what a run publishes: each image before it has its tag, then all that an index is to name, each once. */

import type { Digest } from "../oci/digest.ts";
import type { ImageReference } from "../oci/reference.ts";
import type { Vouch } from "../publish/publish-index.ts";
import { requireSigned } from "../trust/sign/require-signed.ts";
import { type SignedImages, signImages, type SignOptions } from "../trust/sign/sign-images.ts";
import type { Signer } from "../trust/signer.ts";
import type { Signing } from "./signed-publisher.ts";

export interface FleetSigningOptions extends Pick<SignOptions, "registry" | "signer" | "format" | "signal"> {
  /** Who else may have signed what is under a name already: one of each list. Asked for where the signer itself has not. */
  readonly others: () => Promise<readonly (readonly Signer[])[]>;
}

export interface FleetSigning extends Signing {
  /** Signs what is not signed yet, and puts back what another signer's write has dropped. */
  readonly vouch: Vouch;
  /** So far. */
  readonly done: () => SignedImages;
}

/** Everything in this repository. */
export function fleetSigning(
  reference: ImageReference,
  { registry, signer, format, signal, others }: FleetSigningOptions,
): FleetSigning {
  const [signed, kept, vouched] = [new Set<Digest>(), new Set<Digest>(), new Set<Digest>()];
  async function sign(digests: readonly Digest[], more: Pick<SignOptions, "signal" | "settleMs">) {
    const done = await signImages(reference, digests, { registry, signer, format, ...more });
    for (const digest of done.signed) signed.add(digest);
    for (const digest of done.kept) if (!signed.has(digest)) kept.add(digest);
  }
  return {
    // Without a wait for each: what another signer drops meanwhile is put back when all are vouched for.
    sign: (pushed) => sign([pushed], { settleMs: 0 }),
    requireSigned: async (image, digest) =>
      requireSigned(registry, { reference: image, digest }, { own: await signer.signer(), others }),
    async vouch(digests) {
      // Who cannot know its own signatures again would sign twice.
      const isBlind = (await signer.signer()) === null;
      const open = digests.filter((digest) => !vouched.has(digest) && !(isBlind && signed.has(digest)));
      await sign(open, signal === undefined ? {} : { signal });
      for (const digest of open) vouched.add(digest);
    },
    done: () => ({ signed: [...signed], kept: [...kept] }),
  };
}
