/** A finished build, as its provenance tells it. */

import type { LockedBase, LockedInputs } from "../lock/lock.ts";
import type { Digest } from "./digest.ts";

/** A finished build, for its provenance. null is unknown, and left out of the statement. */
export interface BuildRecord {
  /** The image's place in the registry. */
  readonly repository: string;
  readonly digest: Digest;
  readonly fleet: { readonly name: string; readonly version: string; readonly matrix: Digest };
  readonly cell: string;
  readonly axes: Readonly<Record<string, string>>;
  readonly platform: string;
  readonly inputDigest: Digest;
  readonly inputs: LockedInputs | null;
  readonly bases: readonly LockedBase[];
  /** The engine, as the lock has it: `docker 28.2.2`. */
  readonly engine: string;
  readonly origin: BuildOrigin;
  readonly started: Date;
  readonly finished: Date;
}

/** The machine and the sources of a build, as the building machine states them. */
export interface BuildOrigin {
  /** Version of imgmatch. */
  readonly program: string | null;
  /** Commit of the sources; empty where there is none. */
  readonly revision: string;
  /** Files differ from that commit; null is unknown. */
  readonly modified: boolean | null;
  /** URL of the sources' repository, without credentials. */
  readonly remote: string | null;
  /** URI of the builder and of this run, as a CI names them. */
  readonly builder: string | null;
  readonly invocation: string | null;
}

/** SHA-1 or SHA-256, as git writes it. */
export function isCommit(revision: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(revision);
}
