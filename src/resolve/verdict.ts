/** The answer for one image on one host, and for a whole lock. */

import type { LocalEngine } from "../lock/lock.ts";
import type { ImmutableReference } from "../oci/immutable-reference.ts";
import type { Cure } from "./rules/rule-remedy.ts";

export const reasonCodes = [
  "ARCH_MISMATCH",
  "CPU_FEATURES_MISSING",
  "NO_NVIDIA_DRIVER",
  "NO_GPU",
  "DRIVER_TOO_OLD",
  "DRIVER_NOT_EXACT",
  "NO_GPU_CODE",
  "PTX_TOO_NEW",
  "COMPAT_NOT_SUPPORTED",
  "NVIDIA_REQUIRE_UNSATISFIED",
  "KERNEL_TOO_OLD",
  "PIN_MISMATCH",
  "NOT_BUILT",
  "NOT_PUSHED",
  "REQUIREMENT_UNKNOWN",
  "HOST_BROKEN",
  "FACT_UNKNOWN",
] as const;

export type ReasonCode = (typeof reasonCodes)[number];

/** Reasons that lie in what is known of the host and not in an image: nobody can say that none fits. */
export function isOfHost(code: string): code is "HOST_BROKEN" | "FACT_UNKNOWN" {
  return code === "HOST_BROKEN" || code === "FACT_UNKNOWN";
}

/** How the driver serves the image, best first. CPU images are `native`. */
export const tiers = ["native", "minor", "forward"] as const;
export type Tier = (typeof tiers)[number];

export type Verdict = Fit | Misfit;

export interface Fit {
  readonly ok: true;
  readonly tier: Tier;
  /** One entry per visible GPU, in the order of the facts; empty for a CPU image. */
  readonly code: readonly CodeFit[];
  /** For how much of this host's CPU the image was built: what the order counts. */
  readonly builtFor: CpuShare;
}

export interface CpuShare {
  /** Features. */
  readonly features: number;
  /** Those of them that the compiler uses by itself. They decide first: cryptography alone makes no CPU the faster one. */
  readonly emitted: number;
}

/** Which code of the image a GPU runs. `distance` is in minors for SASS, in tenths of a compute capability for PTX. */
export interface CodeFit {
  readonly target: string;
  readonly kind: "specific" | "family" | "sass" | "ptx";
  readonly distance: number;
}

export interface Misfit {
  readonly ok: false;
  readonly code: ReasonCode;
  /** What clashes, with both numbers. */
  readonly message: string;
  /** The smallest change that takes this reason away. An image may have others: `why-not` lists them all. */
  readonly fix: string;
  /** The alternatives of `fix`, as data. */
  readonly cures: readonly Cure[];
  /** By how much it misses, in the rule's own unit: features, branches, pins. 1 where there is nothing to count. */
  readonly by?: number;
}

export const resolutionSchemaVersion = 1;

export interface Resolution {
  readonly schemaVersion: typeof resolutionSchemaVersion;
  readonly match: Match | null;
  readonly rejected: readonly Rejection[];
  readonly problems: readonly { readonly code: string; readonly message: string; readonly fix?: string }[];
  /** Only where the host has GPUs under a driver and the match, which nobody asked to be so, has no GPU code. */
  readonly unusedGpus?: UnusedGpus;
  /** Only where nobody pinned a free axis and several of its values fit. */
  readonly openAxes?: readonly OpenAxis[];
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
  /** Those of the other images that fit, sorted. */
  readonly others: readonly string[];
}

export interface Match {
  readonly cell: string;
  readonly reference: ImmutableReference;
  /** Which engine of this machine has it, where no registry does: `reference` is its id there. */
  readonly local?: LocalEngine;
  readonly tier: Tier;
  /** What was declared of its CPU beside what its files use, in words: only where they use less, or it is estimated. */
  readonly measured?: string;
  /** Why it beat the next one, in words. */
  readonly reasons: readonly string[];
}

/** The first reason against an image. It may not be the only one: `why-not` lists all. */
export interface Rejection {
  readonly cell: string;
  readonly code: ReasonCode;
  readonly message: string;
  /** What takes this reason away. */
  readonly fix: string;
}
