/** The lock: what was built. `images/imgmatch.lock.json` is the truth; a tag is only a hint. */

import type { Measured, Requirement } from "./requirement.ts";
import type { Digest } from "../oci/digest.ts";

export const lockSchemaVersion = 2;
export const lockPath = "images/imgmatch.lock.json";

/** Cells by id, in the order of their ids. */
export interface Lock {
  readonly schemaVersion: typeof lockSchemaVersion;
  /** The matrix's name. */
  readonly name: string;
  /** The fleet's version. */
  readonly version: string;
  /** Registry and path without tag, for example `registry.example.com/team/cv-tf`. */
  readonly repository: string;
  /** The criteria that resolve looks at first among images that fit. Absent where the matrix has none. */
  readonly prefer?: readonly string[];
  /** `least`: a plain pull may get an image that not every machine starts. Absent where the matrix does not say so. */
  readonly plainPull?: "least";
  /** The images, each by its cell's id. */
  readonly images: Readonly<Record<string, LockedImage>>;
  /** Further tags of this version. Each is an index over some cells, for runtimes. */
  readonly variants?: readonly string[];
  /** The last move of each channel, by name. */
  readonly channels?: Readonly<Record<string, LockedChannel>>;
}

/** The lock that an index stands for. */
export interface IndexLock extends Lock {
  /** Of the index itself. */
  readonly indexDigest: Digest;
}

/** The last move of a channel. */
export interface LockedChannel {
  /** Digest of the index that the channel's tag holds. */
  readonly digest: Digest;
  /** Of the fleet that it was moved to. */
  readonly version: string;
  /** Its digest before; null for a new channel. */
  readonly from: Digest | null;
  /** The user who moved it. */
  readonly movedBy: string;
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
  /** The cell's labels by axis. */
  readonly axes: Readonly<Record<string, string>>;
  /** `os/architecture`, for example `linux/amd64`. */
  readonly platform: string;
  /** The image is here, in place of the lock's repository. */
  readonly repository?: string;
  /** The image's tag. */
  readonly tag: string;
  /** Digest of all inputs; of an adopted image its own digest. */
  readonly inputDigest: Digest;
  /** The manifest's digest in the registry. Null for an image that was not pushed: it resolves only with `--local`. */
  readonly digest: Digest | null;
  /** Media type and length of `digest`. Absent where the build did not learn them. */
  readonly manifest?: LockedManifest;
  /** The declared requirement: `cpu` with march and features in Linux's names; `cuda`, null without GPU code for NVIDIA, with toolkit, code (`sm_90`: machine code, `compute_90`: PTX, with its ISA where that is not the toolkit's: `compute_50@6.5`), `driver` (mode `host`, `bundled` or `compat`) and `require`; `rocm`, absent without GPU code for AMD, with release and code (`gfx942`, `gfx11-generic`, `amdgcnspirv`); `accelerator`, one that nobody judges; `kernel`, the oldest of the image's libc. Where an image carries several of a kind, `cpu`, `cuda` and `rocm` have `by`, its own name for the first, and the others under `or`: a host must meet one of each. */
  readonly requires: Requirement;
  /** The part of `requires` that the files showed, by version `rules` of the rules: `cpu.unused`, declared features that no file uses; `cuda.code` and `cuda.minimum`, code and driver floor as found; `rocm.code`. Absent for an image that was not opened. */
  readonly measured?: Measured;
  /** Only of an image that was built and not pushed: the place that has it. */
  readonly local?: LockedLocal;
  /** The day from which on the image is deprecated, `2026-12-31`: the earliest of its cell's values. No input of the image. */
  readonly deprecated?: string;
  /** Its guard asks the host before its program starts. */
  readonly guard?: boolean;
  /** Only of an image that others built, and `imgmatch adopt` opened. */
  readonly adopted?: LockedAdoption;
  /** Only of an image whose build was attested when it was pushed. */
  readonly attested?: LockedAttestation;
  /** Only of an image that was signed when it was pushed: where its signature was written. `bundle`: attached to the image. `tag`: under `sha256-<hex>.sig`. */
  readonly signed?: readonly SignatureForm[];
  /** The base images with the digests of the build. */
  readonly bases: readonly LockedBase[];
  /** Base digests for the next build, written by `lock --update-bases`. */
  readonly nextBases?: readonly LockedBase[];
  /** The other parts of the input digest, to say what changed. Absent for adopted images. */
  readonly inputs?: LockedInputs;
  /** The engine with its version, for people; `others` for adopted images. */
  readonly builder: string;
  /** The time of the build, RFC 3339, or null until built. */
  readonly created: string | null;
  /** Unpacked bytes as the engine reports them, or null. */
  readonly size: number | null;
  /** Bytes of configuration and layers in the registry, by the first 16 digits of their digests. Written at the push or by `adopt`. */
  readonly blobs?: StoredBlobs;
  /** Bytes of its code by package, then by GPU target and CPU architecture: `{ "torch": { "sm_80": 1200, "x86_64": 900 } }`. Packages with most GPU code have a name, the rest is under the empty one. Absent for an image that was not opened. */
  readonly code?: LockedCode;
  /** Wall time of the first build of these inputs, in whole seconds. Absent where another build, a Pulumi program or others made the image. */
  readonly buildSeconds?: number;
}

/** `2026-12-31`, a day of the calendar. */
export function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text) === true;
}

/** Engines that keep what they build. */
export const localEngines = ["docker", "podman"] as const;
export type LocalEngine = (typeof localEngines)[number];

export interface LockedLocal {
  /** The engine of this machine: docker or podman. */
  readonly engine: LocalEngine;
  /** The image's id there: the id names the same bytes for ever, and on this machine alone. */
  readonly id: Digest;
}

export interface LockedAdoption {
  /** `estimated`: `requires.cpu` is what its files need as far as they tell. `stated`: its owner has named the march. */
  readonly cpu: "estimated" | "stated";
}

/** The origin in its provenance, as far as the entry does not have it elsewhere. */
export interface LockedAttestation {
  /** Of the matrix that it was built by. */
  readonly matrix: Digest;
  /** Commit of the sources; absent where there was none. */
  readonly revision?: string;
}

export const signatureForms = ["bundle", "tag"] as const;
export type SignatureForm = (typeof signatureForms)[number];

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

/** The word stands in a Dockerfile, so no character of it has a meaning there. */
export const rebuildWord = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/;

export interface LockedBase {
  /** The reference in the Dockerfile. */
  readonly ref: string;
  /** The manifest's or index's; of a `local` base the engine's id of the image. */
  readonly digest: Digest;
  /** Only of a base that no registry had: the engine that had the base, on one machine. */
  readonly local?: LocalEngine;
  /** Absent where nobody has read it. */
  readonly config?: LockedBaseConfig;
}

/** The effect of an image on a Dockerfile that starts from it: the part that decides which files the Dockerfile takes. */
export interface LockedBaseConfig {
  /** It has `ONBUILD` instructions. */
  readonly onbuild: boolean;
  /** Names of its environment, sorted. */
  readonly env: readonly string[];
  /** Of the base of an image with a guard: the program that the guard starts. */
  readonly start?: LockedStart;
}

/** `shell`: of its `SHELL`. `hasShell`: something in it shows a `/bin/sh`. */
export interface LockedStart extends Readonly<Record<"entrypoint" | "cmd", readonly string[]>> {
  readonly shell?: readonly string[];
  readonly hasShell: boolean;
}

export type LockedCode = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Bytes of an image's configuration and layers, by the first 16 hexadecimal digits of their digests. */
export type StoredBlobs = Readonly<Record<string, number>>;

/** The axes that a host decides. All others are free. */
export const hardwareAxes: ReadonlySet<string> = new Set(["accel", "cuda", "compute", "platform", "march"]);

/** Some tools call `linux/arm64` `linux/arm64/v8`. Source: containerd's platforms.Normalize. */
export function normalizePlatform(platform: string): string {
  return platform.endsWith("/arm64/v8") || platform.endsWith("/amd64/v1") ? platform.slice(0, -3) : platform;
}
