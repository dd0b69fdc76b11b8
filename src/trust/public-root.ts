/** Fetches the trusted root of the public sigstore by TUF, which renews its own copy. */

import { ImgmatchError } from "../errors.ts";

export interface PublicRootOptions {
  /** TUF's cache. Default: a folder of the user. */
  readonly cachePath?: string;
  /** Another repository than sigstore's, and a file with its first root. */
  readonly mirrorURL?: string;
  readonly rootPath?: string;
}

/** `trusted_root.json` as text. Throws `TRUSTED_ROOT_INVALID`. */
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

/** The innermost cause: TUF wraps it. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : reasonOf(error.cause);
}
