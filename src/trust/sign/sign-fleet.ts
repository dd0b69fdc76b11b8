/** Signs what a run publishes: each image before its tag is written, then each image that an index will name, once. */

import type { Digest } from "../../oci/digest.ts";
import { formatImageReference, type ImageReference, withDigest } from "../../oci/reference.ts";
import type { SignatureForm } from "../../lock/lock.ts";
import type { SignedImages } from "../../oci/trust-flags.ts";
import { type BundleTakers, signImages, type SignOptions } from "./sign-images.ts";
import type { TrustedSigner } from "../trusted-signers.ts";
import type { Subject } from "../../oci/descriptor.ts";
import { ImgmatchError } from "../../errors.ts";
import { findEvidence } from "../find-evidence.ts";
import { publicRoot } from "../public-root.ts";
import { verifyEvidence } from "../verify-evidence.ts";

export interface FleetSigningOptions
  extends Pick<SignOptions, "registry" | "signer" | "format" | "signal" | "tell"> {
  /** The other accepted signers of an image whose tag is written already: one of each list. Called if our signer has not signed it. */
  readonly others: () => Promise<readonly (readonly TrustedSigner[])[]>;
}

const orPolicy = "a trust policy may name who else signs";
const ofImage = `find out who pushed it; remove its tag to have it built again, or build under another tag with --no-cache=<word>; ${orPolicy}`;
const ofIndex = `find out who published it; publish all images from one lock with --replace-index and without --only: imgmatch names what others have put there, and drops it; ${orPolicy}`;

/** Signs the images of an index in this repository, and pushed images in their own repository. */
export function fleetSigning(
  reference: ImageReference,
  { registry, signer, format, signal, tell, others }: FleetSigningOptions,
) {
  const [signed, kept, vouched] = [new Set<Digest>(), new Set<Digest>(), new Set<Digest>()];
  const forms = new Set<SignatureForm>();
  const takers: BundleTakers = new Map();
  async function sign(
    place: ImageReference,
    digests: readonly Digest[],
    more: Pick<SignOptions, "signal" | "settleMs">,
  ) {
    const done = await signImages(place, digests, { registry, signer, format, tell, takers, ...more });
    for (const digest of done.signed) signed.add(digest);
    for (const digest of done.kept) if (!signed.has(digest)) kept.add(digest);
    for (const form of done.forms) forms.add(form);
    return done.forms;
  }
  /**
   * Anybody who can push can write the label of an image's inputs. A signer that trusts the label signs what a stranger has put there. Throws
   * with exit code 6, as `verifyEvidence`, if neither this signer nor a signer of each list has signed the image, and `REGISTRY_…`.
   */
  async function requireSigned(image: ImageReference, digest: Digest, fix: string): Promise<void> {
    const subject = { reference: image, digest };
    const own = await signer.asTrusted();
    const evidence = await findEvidence(registry, subject);
    const bySome = (signers: readonly TrustedSigner[]) =>
      verifyEvidence(evidence, subject, signers, { publicRoot });
    // Without `--sign-root` nothing here can verify the signatures of an identity.
    const refusal = own === null ? unknowable(subject) : await refusalOf(bySome([own]));
    if (refusal === null) return;
    const lists = await others();
    const last = lists.length === 0 ? refusal : await refusalOf(Promise.all(lists.map(bySome)));
    if (last !== null) throw new ImgmatchError({ ...last.problems[0], fix }, { cause: last });
  }
  return {
    signStatement: (statement: object) => signer.signStatement(statement),
    // Without a wait for each: what another signer drops meanwhile is put back when all are vouched for.
    sign: async (pushed: Digest, place: ImageReference): Promise<readonly SignatureForm[]> =>
      sign({ ...place, tag: null, digest: null }, [pushed], { settleMs: 0 }),
    requireSigned: (image: ImageReference, digest: Digest) => requireSigned(image, digest, ofImage),
    requireVouched: (index: Digest) => requireSigned(reference, index, ofIndex),
    async vouch(digests: readonly Digest[]): Promise<void> {
      // A signer that cannot know its own signatures again would sign twice.
      const isBlind = (await signer.asTrusted()) === null;
      const unsigned = digests.filter((digest) => !vouched.has(digest) && !(isBlind && signed.has(digest)));
      await sign(reference, unsigned, signal === undefined ? {} : { signal });
      for (const digest of unsigned) vouched.add(digest);
    },
    done: (): SignedImages => ({ signed: [...signed], kept: [...kept], forms: [...forms].sort() }),
  };
}

/** null if a trusted signer has signed. */
async function refusalOf(judging: Promise<unknown>): Promise<ImgmatchError | null> {
  try {
    await judging;
    return null;
  } catch (error) {
    if (error instanceof ImgmatchError && error.exitCode === 6) return error;
    throw error;
  }
}

function unknowable({ reference, digest }: Subject): ImgmatchError {
  return new ImgmatchError({
    code: "SIGNATURE_MISSING",
    message: `${formatImageReference(withDigest(reference, digest))} was there already, and without --sign-root imgmatch cannot tell whether this signer signed it`,
  });
}
