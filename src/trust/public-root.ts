/** The trusted root of the public sigstore: by TUF, which knows when its own copy is old. */

import { ImgmatchError } from "../errors.ts";

export interface PublicRootOptions {
  /** The folder in which TUF keeps what it has read. Default: its folder in the user's. */
  readonly cachePath?: string;
  /** Another repository than that of sigstore, with the root that it begins with, as JSON in a file. */
  readonly mirrorURL?: string;
  readonly rootPath?: string;
}

/** `trusted_root.json` as text. Throws `TRUSTED_ROOT_INVALID` where it cannot be had. */
export async function publicRoot(options: PublicRootOptions = {}): Promise<string> {
  const [{ getTrustedRoot }, { TrustedRoot }] = await Promise.all([
    import("@sigstore/tuf"),
    import("@sigstore/protobuf-specs"),
  ]);
  try {
    return JSON.stringify(TrustedRoot.toJSON(await getTrustedRoot(options)));
  } catch (error) {
    throw new ImgmatchError(
      {
        code: "TRUSTED_ROOT_INVALID",
        message: `the trusted root of sigstore cannot be fetched: ${reasonOf(error)}`,
        fix: "name a file with --trusted-root (cosign trusted-root create), or let this machine reach tuf-repo-cdn.sigstore.dev",
      },
      { cause: error },
    );
  }
}

/** The fault that TUF found, and not that it found one. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : reasonOf(error.cause);
}
