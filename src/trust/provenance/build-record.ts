/** What imgmatch knows of a build that it has just done: what its provenance says. Unknown is null, and left out of what is written. */

import type { LockedBase, LockedInputs } from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";

export interface BuildRecord {
  /** Of the image as the registry has it. */
  readonly repository: string;
  readonly digest: Digest;
  readonly fleet: { readonly name: string; readonly version: string; readonly matrix: Digest };
  readonly cell: string;
  readonly axes: Readonly<Record<string, string>>;
  readonly platform: string;
  readonly inputDigest: Digest;
  readonly inputs: LockedInputs | null;
  readonly bases: readonly LockedBase[];
  /** What built, as the lock has it: `docker 28.2.2`. */
  readonly engine: string;
  readonly origin: BuildOrigin;
  readonly started: Date;
  readonly finished: Date;
}

/** Where a build runs and what of. All of it is said by the machine that builds. */
export interface BuildOrigin {
  /** Version of imgmatch. */
  readonly program: string | null;
  /** Commit of the sources; empty where there is none. */
  readonly revision: string;
  /** Whether files differ from that commit; null is unknown. */
  readonly modified: boolean | null;
  /** URL of the sources' repository, without credentials. */
  readonly remote: string | null;
  /** URI of who runs the build, and of this run of it, as a CI names them. */
  readonly builder: string | null;
  readonly invocation: string | null;
}

export const unknownOrigin: BuildOrigin = {
  program: null,
  revision: "",
  modified: null,
  remote: null,
  builder: null,
  invocation: null,
};
