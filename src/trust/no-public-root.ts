/** Stands for `public-root.ts` in the program of one file: the code that fetches the public root would double that program. */

import { ImgmatchError } from "../errors.ts";

/** Throws `TRUSTED_ROOT_INVALID`. */
export async function noPublicRoot(): Promise<string> {
  throw new ImgmatchError({
    code: "TRUSTED_ROOT_INVALID",
    message: "this program cannot fetch the trusted root of the public sigstore",
    fix: "give it as a file (cosign trusted-root create --with-default-services), or use imgmatch from npm",
  });
}
