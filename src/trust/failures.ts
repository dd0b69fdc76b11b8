/** Why a signature does not count, as errors with a code and the next step. */

import { ImgmatchError, type Problem, type ProblemCode } from "../errors.ts";
import type { Digest } from "../oci/digest.ts";
import { formatImageReference, type ImageReference } from "../oci/reference.ts";

/** One piece of evidence that does not prove what was asked. */
export interface Failure {
  readonly code: FailureCode;
  /** What is wrong with it, without the image's name. */
  readonly why: string;
}

export type FailureCode = keyof typeof fixes;

/** From the one that says least to the one that says most: where many signatures fail, the last is the one to tell. */
const fixes = {
  SIGNATURE_MISSING: "sign it with imgmatch publish --sign, or find out who removed its signature",
  SIGNATURE_WRONG_SIGNER: "sign it with the right key, or name the key or identity that signed it",
  SIGNATURE_INVALID: "find out who wrote this signature; sign the image again once you know it is yours",
  CERTIFICATE_EXPIRED: "sign it again, with a log entry or a timestamp of the same time",
  SIGNATURE_OTHER_DIGEST:
    "find out who moved this signature: the image under this name is not the one that was signed",
} as const satisfies Partial<Record<ProblemCode, string>>;

const order = Object.keys(fixes);

/** What is to be told of an image of which no evidence proves enough; without any, that there is none. */
export function unproven(
  { reference, digest }: { readonly reference: ImageReference; readonly digest: Digest },
  wanted: string,
  failures: readonly Failure[],
): ImgmatchError {
  const missing: Failure = { code: "SIGNATURE_MISSING", why: "has no signature in its registry" };
  const [worst = missing, ...others] = [...failures].sort(
    (one, other) => order.indexOf(other.code) - order.indexOf(one.code),
  );
  const name = formatImageReference({ ...reference, tag: null, digest });
  const problem: Problem = {
    code: worst.code,
    message: `${name} ${worst.why}; asked for: ${wanted}`,
    ...(others.length === 0
      ? {}
      : { details: others.slice(0, 9).map(({ code, why }) => `also ${code}: it ${why}`) }),
    fix: fixes[worst.code],
  };
  return new ImgmatchError(problem);
}

/** Of what is not even evidence. */
export function invalidSignature(
  { reference, digest }: { readonly reference: ImageReference; readonly digest: Digest },
  what: string,
): ImgmatchError {
  const name = formatImageReference({ ...reference, tag: null, digest });
  return new ImgmatchError({
    code: "SIGNATURE_INVALID",
    message: `the signatures of ${name} cannot be read: ${what}`,
    fix: fixes.SIGNATURE_INVALID,
  });
}
