/** Refuses a path where a signature is demanded: nobody signs files and folders, so the demand cannot be met. */

import { ImgmatchError } from "../errors.ts";
import { pathOfSubject } from "../inspect/open-subject.ts";
import type { World } from "../io/world.ts";
import { type ImageReference, parseImageReference } from "../oci/reference.ts";
import { asksTrust } from "../trust/asks-trust.ts";
import type { RootSource, SignatureDemands } from "../oci/trust-flags.ts";
import { signatureTrustFor } from "../trust/trust-demands.ts";

/**
 * Throws `SIGNATURE_MISSING` for a subject that is a path: where a flag demands a signature, and where a policy demands one of the image of
 * that name. So a folder that somebody puts into a checkout does not answer for the image. Throws too what reading a policy throws.
 */
export async function refuseUnsignedPath(
  subject: string,
  demands: SignatureDemands,
  world: World & RootSource,
): Promise<void> {
  const isImageToo = imageOf(subject, world.cwd) !== null;
  const elsewhere = "to ask about the image of that name, move the path away";
  if (asksTrust(demands))
    throw unsigned(
      `${subject} is a path here, and nobody signs paths: the signature that is demanded cannot be there`,
      `leave out --key, --identity and --trust${isImageToo ? `; ${elsewhere}` : ", or name an image in a registry"}`,
    );
  if (await isDemandedByPolicy(subject, demands, world))
    throw unsigned(
      `${subject} is a path here, and the policy does not take an image of that name without a signature`,
      `write ./${subject} if the path is meant; ${elsewhere}`,
    );
}

async function isDemandedByPolicy(
  subject: string,
  demands: SignatureDemands,
  world: World & RootSource,
): Promise<boolean> {
  const image = imageOf(subject, world.cwd);
  const trust = image && (await signatureTrustFor(demands, world));
  if (!image || !trust) return false;
  try {
    return (await trust(image))?.asksSignature === true;
  } catch (error) {
    if (!(error instanceof ImgmatchError) || error.code !== "TRUST_NO_RULE") throw error;
    // A name such as `venv` is hardly ever meant as an image of Docker Hub: only a rule with signers tells.
    return namesImage.test(subject);
  }
}

/** A registry before the first slash, a tag or a digest. */
const namesImage = /^[^/]*[.:][^/]*\/|^localhost\/|[:@]/;

/** The image that the subject would name if no such path were there; null for what is a path in any case. */
function imageOf(subject: string, cwd: string): ImageReference | null {
  if (pathOfSubject(subject, cwd, "registry") !== null) return null;
  try {
    return parseImageReference(subject);
  } catch (error) {
    if (error instanceof ImgmatchError) return null;
    throw error;
  }
}

function unsigned(message: string, fix: string): ImgmatchError {
  return new ImgmatchError({ code: "SIGNATURE_MISSING", message, fix });
}
