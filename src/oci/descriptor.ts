/** What an index or a registry says of a manifest, and the manifest. */

import type { Digest } from "./digest.ts";

export interface ManifestDescriptor {
  readonly digest: Digest;
  readonly mediaType: string;
  /** Bytes. */
  readonly size: number;
}

export interface Manifest extends ManifestDescriptor {
  readonly bytes: Uint8Array;
}
