/** Replaces `public-root.ts` in the program of one file, which cannot reach the public sigstore. */

import { ImgmatchError } from "../errors.ts";

/** Throws `TRUSTED_ROOT_INVALID`. */
export async function publicRoot(): Promise<string> {
  throw new ImgmatchError({
    code: "TRUSTED_ROOT_INVALID",
    message: "this program cannot fetch the trusted root of the public sigstore",
    fix: "give it as a file (cosign trusted-root create --with-default-services), or use imgmatch from npm",
  });
}
