/** The lock: what was built. `images/imgmatch.lock.json` is the truth; a tag is only a hint. */

import type { StoredBlobs } from "../oci/registry/stored-blobs.ts";
import type { Measured, Requirement } from "../hardware/requirement.ts";
import type { Digest } from "../oci/digest.ts";

export type {
  CpuRequirement,
  CudaRequirement,
  DriverRequirement,
  Measured,
  Requirement,
} from "../hardware/requirement.ts";

export const lockSchemaVersion = 2;
export const lockPath = "images/imgmatch.lock.json";

/** Cells by id, in the order of their ids. */
export interface Lock {
  readonly schemaVersion: typeof lockSchemaVersion;
  readonly name: string;
  readonly version: string;
  /** Registry and path without tag, for example `registry.example.com/team/cv-tf`. */
  readonly repository: string;
  readonly matrixDigest: Digest;
  /** What resolve looks at first among images that fit; absent where the matrix says nothing. */
  readonly prefer?: readonly string[];
  /** `least`: a plain pull may get an image that not every machine starts. Absent where the matrix does not say so. */
  readonly plainPull?: "least";
  readonly images: Readonly<Record<string, LockedImage>>;
  /** Tags of this version that have an index over some of its cells, for runtimes. */
  readonly variants?: readonly string[];
  /** Where `promote` has moved each channel, by name. */
  readonly channels?: Readonly<Record<string, LockedChannel>>;
}

/** The last move of a channel. */
export interface LockedChannel {
  /** What the channel's tag holds: an index, or one image. */
  readonly digest: Digest;
  /** Of the fleet that it was moved to. */
  readonly version: string;
  /** What it held before; null where it was new. */
  readonly from: Digest | null;
  /** Who moved it. */
  readonly by: string;
  /** RFC 3339. */
  readonly at: string;
}

/** As much of a lock as decides the inputs of the next build. */
export interface LockPins {
  readonly images: Readonly<
    Record<
      string,
      Pick<LockedImage, "bases" | "nextBases"> &
        Partial<Pick<LockedImage, "platform">> & {
          readonly inputs?: Partial<Pick<LockedInputs, "dockerfile" | "rebuild">>;
        }
    >
  >;
}

export interface LockedImage {
  readonly axes: Readonly<Record<string, string>>;
  /** `os/architecture`, for example `linux/amd64`. */
  readonly platform: string;
  /** Where it is, in place of the lock's repository. */
  readonly repository?: string;
  readonly tag: string;
  readonly inputDigest: Digest;
  /** The manifest's digest; null until the image is built. Such an image never resolves. */
  readonly digest: Digest | null;
  /** What `digest` names, as the registry told when it was pushed: with it an index is written without asking again. */
  readonly manifest?: LockedManifest;
  readonly requires: Requirement;
  /** What its files showed of `requires`. Absent where nobody has opened it; then all that is declared is needed. */
  readonly measured?: Measured;
  /** Where an image is that was built and not pushed. Absent where no engine of this machine keeps it. */
  readonly local?: LockedLocal;
  /** Only of an image that others built, and `imgmatch adopt` opened. */
  readonly adopted?: LockedAdoption;
  /** Only of an image whose build was attested when it was pushed. */
  readonly attested?: LockedAttestation;
  /** What it was built on. */
  readonly bases: readonly LockedBase[];
  /** What the next build is to use in their place, since `lock --update-bases`. */
  readonly nextBases?: readonly LockedBase[];
  /** The parts of the input digest that stand nowhere else in the entry. Absent where others built the image. */
  readonly inputs?: LockedInputs;
  /** What built it, for people: `docker 28.2.2`. */
  readonly builder: string;
  /** RFC 3339, or null until built. */
  readonly created: string | null;
  /** Size in bytes as the engine reports it, or null where it is not known. */
  readonly size: number | null;
  /** What it takes in the registry. Absent where nobody has asked the registry for it. */
  readonly blobs?: StoredBlobs;
  /** How long the engine worked at it, in whole seconds, rounded up: the build that made it. Absent where no build of this lock's fleet did, or none told. */
  readonly buildSeconds?: number;
}

/** Engines that keep what they build. */
export const localEngines = ["docker", "podman"] as const;
export type LocalEngine = (typeof localEngines)[number];

export interface LockedLocal {
  readonly engine: LocalEngine;
  /** The image's id there: it names these bytes for ever, and on this machine alone. */
  readonly id: Digest;
}

export interface LockedAdoption {
  /** `estimated`: `requires.cpu` is what its files need as far as they tell. `stated`: its owner has named the march. */
  readonly cpu: "estimated" | "stated";
}

/** What its provenance says of where it came from, as far as the entry says it nowhere else. */
export interface LockedAttestation {
  /** Of the matrix that it was built by: the lock's own is that of the last build. */
  readonly matrix: Digest;
  /** Commit of the sources; absent where there was none. */
  readonly revision?: string;
}

export interface LockedManifest {
  readonly mediaType: string;
  /** Bytes. */
  readonly size: number;
}

/** With `platform` and `bases`, all that the input digest is made of: for saying what has changed since. */
export interface LockedInputs {
  /** sha256 of the rendered Dockerfile. */
  readonly dockerfile: Digest;
  readonly context: Digest;
  readonly args: Readonly<Record<string, string>>;
  readonly target: string | null;
  /** The Dockerfile frontend. */
  readonly builder: string;
  /** The word of `build --no-cache`; absent where nobody has asked for a rebuild. */
  readonly rebuild?: string;
}

/** It stands in a Dockerfile, so it has nothing in it that means something there. */
export const rebuildWord = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/;

export interface LockedBase {
  readonly ref: string;
  /** The manifest's or index's; of a `local` base the engine's id of the image. */
  readonly digest: Digest;
  /** Only of a base that no registry had: the engine of one machine that had it. */
  readonly local?: LocalEngine;
  /** Absent where nobody has read it. */
  readonly config?: LockedBaseConfig;
}

/** What an image does to a Dockerfile that starts from it: so far as it decides which files that takes. */
export interface LockedBaseConfig {
  /** Whether it has `ONBUILD` instructions. */
  readonly onbuild: boolean;
  /** Names of its environment, sorted. */
  readonly env: readonly string[];
}
