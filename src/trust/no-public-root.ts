/** In the one-file program, what stands in the place of the way to the public sigstore. */

import { ImgmatchError } from "../errors.ts";

/** Throws `TRUSTED_ROOT_INVALID`. */
export async function publicRoot(): Promise<string> {
  throw new ImgmatchError({
    code: "TRUSTED_ROOT_INVALID",
    message: "this program cannot fetch the trusted root of the public sigstore",
    fix: "give it as a file (cosign trusted-root create --with-default-services), or use imgmatch from npm",
  });
}
