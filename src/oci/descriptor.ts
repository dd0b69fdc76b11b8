/** What an index or a registry says of a manifest, and the manifest. */

import type { Digest } from "./digest.ts";
import type { ImageReference } from "./reference.ts";

export interface ManifestDescriptor {
  readonly digest: Digest;
  readonly mediaType: string;
  /** Bytes. */
  readonly size: number;
}

export interface Manifest extends ManifestDescriptor {
  readonly bytes: Uint8Array;
}

/** The image or index that a signature is about. `reference` names the repository: its tag and digest do not count. */
export interface Subject {
  readonly reference: ImageReference;
  readonly digest: Digest;
}
