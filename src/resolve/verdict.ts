/** The answer for one image on one host, and for a whole lock. */

import type { CudaVersion } from "../hardware/driver-version.ts";
import { sum } from "../io/collections.ts";
import type { LocalEngine } from "../lock/lock.ts";
import type { Requirement } from "../lock/requirement.ts";
import type { ImmutableReference } from "../oci/immutable-reference.ts";

/**
 * Reason → the effort of its cure: a word of the user, an update of the host, an image that somebody has to build, other hardware.
 * docs/errors.md has what each reason means.
 */
export const efforts = {
  PIN_MISMATCH: 1,
  DEPRECATED: 1,
  NOT_BUILT: 1,
  NOT_PUSHED: 1,
  NVIDIA_REQUIRE_UNSATISFIED: 2,
  DRIVER_TOO_OLD: 2,
  PTX_TOO_NEW: 2,
  KERNEL_TOO_OLD: 2,
  COMPAT_NOT_SUPPORTED: 2,
  DRIVER_NOT_EXACT: 3,
  NO_NVIDIA_DRIVER: 3,
  NO_AMD_DRIVER: 3,
  CPU_FEATURES_MISSING: 4,
  NO_GPU_CODE: 4,
  NO_GPU: 8,
  NO_AMD_GPU: 8,
  REQUIREMENT_UNKNOWN: 8,
  HOST_BROKEN: 8,
  FACT_UNKNOWN: 8,
  ARCH_MISMATCH: 64,
} as const;

export type ReasonCode = keyof typeof efforts;

/** How far an image is from a host: first the effort, then the amount that is missing in the rules' own units. */
export function effortOf(misfits: readonly Misfit[]): readonly [number, number] {
  return [sum(misfits.map(({ code }) => efforts[code])), sum(misfits.map(({ distance = 1 }) => distance))];
}

/** These reasons lie in the facts of the host and not in an image: nobody can say that no image fits. */
export function isOfHost(code: string): code is "HOST_BROKEN" | "FACT_UNKNOWN" {
  return code === "HOST_BROKEN" || code === "FACT_UNKNOWN";
}

/** The ways in which a driver serves an image, best first. CPU images are `native`. */
export const tiers = ["native", "minor", "forward"] as const;
export type Tier = (typeof tiers)[number];

/** The service of a toolkit by the driver, or by the package in its place. */
export interface DriverService {
  readonly ok: true;
  readonly tier: Tier;
  /** The driver library understands the PTX of this CUDA version. */
  readonly understands: (cuda: string) => boolean;
  /** The version that the program meets, for messages. */
  readonly cuda: CudaVersion | null;
}

export type Verdict = Fit | Misfit;

export interface Fit {
  readonly ok: true;
  readonly tier: Tier;
  /** One entry per visible GPU, in the order of the facts; empty for a CPU image. */
  readonly code: readonly CodeFit[];
  /** The part of this host's CPU for which the image was built: the order counts it. */
  readonly builtFor: CpuShare;
  /** Only if the image carries several of a kind: its requirement with the best of each that the host meets. */
  readonly as?: Requirement;
}

export interface CpuShare {
  /** Features. */
  readonly features: number;
  /** The features among them that the compiler uses by itself. They decide first: cryptography alone makes no CPU the faster one. */
  readonly emitted: number;
}

/**
 * Best first: machine code for the device, code for the device's family, code for the device's major, compilation at the start. AMD: `specific` is the GPU's own target, `family` a generic one.
 */
export const codeKinds = [
  "specific",
  "family",
  "sass",
  "ptx",
  "spirv",
] as const satisfies readonly CodeFit["kind"][];

/** The code of the image that a GPU runs. */
export interface CodeFit {
  readonly target: string;
  readonly kind: "specific" | "family" | "sass" | "ptx" | "spirv";
  /** In minors for SASS, in tenths of a compute capability for PTX, else 0. */
  readonly distance: number;
  /** The vendor does not support it on this host's kernel. */
  readonly unsupported?: true;
}

/** Of an image with GPU code: how driver and GPUs serve it. */
export type GpuFit = Omit<Fit, "builtFor" | "as">;

/** All that is against an image, in the order of the rules. */
export type Misfits = readonly [Misfit, ...Misfit[]];

export function isMisfit(found: object): found is Misfit {
  return "ok" in found && found.ok === false;
}

export interface Misfit {
  readonly ok: false;
  readonly code: ReasonCode;
  /** Both numbers that clash. */
  readonly message: string;
  /** The same in few words, where the message is long. */
  readonly short?: string;
  /** The smallest change that takes this reason away. An image may have others: `why-not` lists them all. */
  readonly fix: string;
  /** The alternatives of `fix`, as data. */
  readonly cures: readonly Cure[];
  /** By how much it misses, in the rule's own unit: features, pins, minors of the GPU. 1 where there is nothing to count. */
  readonly distance?: number;
}

/** One way to make an image fit. Those of a misfit are alternatives. */
export interface Cure {
  readonly text: string;
  /** null for what only a person can do or know. */
  readonly remedy: Remedy | null;
  /** The text if others built the image, and no matrix has a cell of it: `adopt an image for linux/arm64`. */
  readonly adopted?: string;
}

/** The change of a cure, as data: imgmatch tries a cure before it offers the cure. */
export type Remedy =
  /** Another driver: this version, or with `atLeast` any newer version that still drives the GPUs. */
  | { readonly kind: "driver"; readonly version: string; readonly atLeast: boolean }
  /** A cell that the fleet does not have: the image's axes with these in place of some of them. */
  | {
      readonly kind: "cell";
      readonly axes: Readonly<Record<string, string>>;
      /** The cell serves these GPUs of the host, and no image serves all. */
      readonly gpus?: readonly number[];
    }
  /** The GPUs of the host, by index, that the image serves. */
  | { readonly kind: "gpus"; readonly gpus: readonly number[] }
  /** A cell that serves where no march is known, of this platform. */
  | { readonly kind: "platform"; readonly platform: string }
  /** Another cell of the lock. */
  | { readonly kind: "take"; readonly cell: string; readonly gpus?: readonly number[] }
  /** The image's own cell, built without these features of its march. */
  | { readonly kind: "without"; readonly march: string; readonly features: readonly string[] }
  | { readonly kind: "features"; readonly features: readonly string[] }
  | { readonly kind: "kernel"; readonly minimum: string }
  | {
      readonly kind: "pins";
      readonly set: Readonly<Record<string, string>>;
      readonly drop: readonly string[];
    }
  | { readonly kind: "option"; readonly leaveOut: "cpuOnly" | "requireGpu" }
  | { readonly kind: "build" };

export const resolutionSchemaVersion = 1;

export interface Resolution {
  readonly schemaVersion: typeof resolutionSchemaVersion;
  readonly match: Match | null;
  readonly rejected: readonly Rejection[];
  readonly problems: readonly { readonly code: string; readonly message: string; readonly fix?: string }[];
  /** Only where the host has GPUs under a driver and the match, which nobody asked to be so, has no GPU code. */
  readonly unusedGpus?: UnusedGpus;
  /** Version of the forward-compatibility package in the image, only where it may be what serves: the driver is older. */
  readonly byPackage?: string;
  /** Only where nobody pinned a free axis and several of its values fit. */
  readonly openAxes?: readonly OpenAxis[];
  /** The match relies on these, in words, and no rule has judged them: a driver beyond AMD's support statement, an accelerator. */
  readonly notes?: readonly string[];
}

export interface UnusedGpus {
  /** `GPU 0 (NVIDIA H100 80GB HBM3)` */
  readonly gpus: readonly string[];
  /** The image with GPU code that misses by the least, with its first reason; null where the lock has none with GPU code. */
  readonly nearest:
    | (Omit<Rejection, "code"> & {
        /** null for one that fits too, and comes later in the order. */
        readonly code: ReasonCode | null;
      })
    | null;
}

export interface OpenAxis {
  readonly axis: string;
  /** Of the match. */
  readonly value: string;
  /** The values of the other images that fit, sorted. */
  readonly others: readonly string[];
}

export interface Match {
  readonly cell: string;
  readonly reference: ImmutableReference;
  /** The local engine that has the image, if no registry does: `reference` is its id there. */
  readonly local?: LocalEngine;
  readonly tier: Tier;
  /** The image's own names for the parts that it takes here: `cuda_v12`, `haswell`. Only of one that carries several of a kind. */
  readonly by?: readonly string[];
  /** The declared CPU features beside the features that the files use, in words. Only if they use less, or it is estimated. */
  readonly measured?: string;
  /** The day from which on the image is deprecated: `2026-12-31`. */
  readonly deprecated?: string;
  /** Why it beat the next one, in words. */
  readonly reasons: readonly string[];
}

/** The first reason against an image. It may not be the only one: `why-not` lists all. */
export interface Rejection {
  readonly cell: string;
  readonly code: ReasonCode;
  readonly message: string;
  /** The change that takes this reason away. */
  readonly fix: string;
}
