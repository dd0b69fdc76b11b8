/** Reads host facts once into the values that the rules compare, so that no rule parses text. */

import { normalizePlatform } from "../lock/lock.ts";
import { parseVersion, type VersionParts } from "../hardware/driver-version.ts";
import type { HostFacts, HostProblem, VendorFacts } from "../facts/facts.ts";
import { sideOfFacts } from "../facts/sides.ts";
import { remember } from "../io/collections.ts";
import { byVendor, type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import { amdGpusOf, type AmdView, unknownAmdFacts, viewAmd } from "./amd-view.ts";
import { type NvidiaView, unknownNvidiaFacts, viewNvidia } from "./nvidia-view.ts";

/** A vendor's GPUs and driver, as the rules compare them. */
export interface VendorView extends Record<GpuVendor, SideView> {
  readonly nvidia: NvidiaView;
  readonly amd: AmdView;
}

export interface SideView {
  /** A driver drives the cards. */
  readonly hasDriver: boolean;
  /** The GPUs that programs use. */
  readonly gpus: readonly { readonly label: string; readonly integrated: boolean | null }[];
}

type ViewByVendor = { readonly [V in GpuVendor]: VendorView[V] | null };

/** A question with an answer for each vendor's side of a host. */
export type BySideOfHost<Answer, Asked extends readonly unknown[] = []> = {
  readonly [V in GpuVendor]: (side: VendorView[V], ...asked: Asked) => Answer;
};

/** The vendor's answer about its side of a host; null for a host without one. */
export function answerOfHost<Vendor extends GpuVendor, Answer, Asked extends readonly unknown[]>(
  answers: BySideOfHost<Answer, Asked>,
  vendor: Vendor,
  view: ViewByVendor,
  ...asked: Asked
): Answer | null {
  const side = view[vendor] as VendorView[Vendor] | null;
  return side === null ? null : answers[vendor](side, ...asked);
}

export interface HostView extends ViewByVendor {
  /** Without the variant that its architecture implies: `linux/arm64` for `linux/arm64/v8`. */
  readonly platform: string;
  readonly kernel: { readonly text: string; readonly parts: VersionParts } | null;
  readonly cpu: { readonly model: string | null; readonly level: string | null };
  /** null if the system does not tell. */
  readonly features: ReadonlySet<string> | null;
  /** Features of which the facts do not say whether the CPU has them. */
  readonly unknownFeatures: ReadonlySet<string>;
  /** Paths of unknown facts that decide whether an image with code for the vendor's GPUs runs. */
  readonly unknownGpuFacts: Readonly<Record<GpuVendor, readonly string[]>>;
  readonly runtime: HostFacts["runtime"]["nvidia"];
  /** Problems after which no answer about this host's GPUs is true. */
  readonly broken: readonly HostProblem[];
  /** The other problems that the probe found. */
  readonly otherProblems: readonly HostProblem[];
}

const views: { readonly [V in GpuVendor]: (facts: HostFacts) => VendorView[V] | null } = {
  nvidia: viewNvidia,
  amd: viewAmd,
};

const unknownFacts: Readonly<Record<GpuVendor, (facts: HostFacts) => readonly string[]>> = {
  nvidia: unknownNvidiaFacts,
  amd: unknownAmdFacts,
};

const known = new WeakMap<HostFacts, HostView>();

/** All parts of an answer that ask about the same facts get the same view. */
export function viewHost(facts: HostFacts): HostView {
  return remember(known, facts, () => readView(facts));
}

function readView(facts: HostFacts): HostView {
  const features = facts.cpu.features;
  const kernel = facts.kernel === null ? null : parseVersion(facts.kernel);
  return {
    platform: normalizePlatform(facts.platform),
    kernel: facts.kernel === null || kernel === null ? null : { text: facts.kernel, parts: kernel },
    cpu: { model: facts.cpu.model, level: facts.cpu.level },
    // Every processor has features: an empty list is one that could not be read.
    features: features === null || features.length === 0 ? null : new Set(features),
    unknownFeatures: new Set(facts.cpu.unknown ?? []),
    ...(byVendor((vendor) => views[vendor](facts)) as ViewByVendor),
    unknownGpuFacts: byVendor((vendor) => unknownFacts[vendor](facts)),
    runtime: facts.runtime.nvidia,
    broken: facts.problems.filter(isBroken),
    otherProblems: facts.problems.filter((problem) => !isBroken(problem)),
  };
}

/**
 * States from which the host's GPUs may come back: "no GPU" would be wrong. A device without a driver and a container without devices are no
 * such states: those hosts have no usable GPUs.
 */
const mayComeBack: ReadonlySet<HostProblem["code"]> = new Set([
  // Until the next reboot.
  "HOST_DRIVER_LIBRARY_MISMATCH",
  "HOST_GPU_LOST",
  "HOST_NVML_FAILED",
  // The kernel module stays loaded only if it found a card, so "No devices were found" is a card that failed to start.
  "HOST_NO_DEVICES",
  // nvidia-smi is NVML too, and runs only if nothing else could answer.
  "HOST_SMI_TIMEOUT",
  "HOST_SMI_FAILED",
  "HOST_MIG_EMPTY",
  "HOST_FABRIC_NOT_READY",
  "HOST_NO_UVM",
  "HOST_NO_LIBCUDA",
  "HOST_GPU_NOT_READY",
  "HOST_CUDA_FAILED",
  "HOST_AMD_HIP_FAILED",
  // The driver has it, and its compute driver does not list it.
  "HOST_AMD_GPU_SKIPPED",
]);

export function isBroken({ code }: HostProblem): boolean {
  return mayComeBack.has(code);
}

/** The GPUs of a vendor that programs use. */
export function judgedGpus<Vendor extends GpuVendor>(vendor: Vendor, facts: Pick<HostFacts, GpuVendor>) {
  const side = sideOfFacts(vendor, facts);
  return side == null ? [] : judged[vendor](side);
}

const judged: { readonly [V in GpuVendor]: (side: VendorFacts[V]) => VendorFacts[V]["gpus"] } = {
  nvidia: ({ gpus }) => gpus,
  amd: (side) => amdGpusOf(side).judged,
};

/** The visible GPUs of these vendors under a driver. */
export function usableGpus(
  view: ViewByVendor,
  vendors: readonly GpuVendor[],
): readonly { readonly label: string; readonly vendor: GpuVendor }[] {
  return gpuVendors
    .filter((vendor) => vendors.includes(vendor) && view[vendor]?.hasDriver === true)
    .flatMap((vendor) => view[vendor]?.gpus.map(({ label }) => ({ label, vendor })) ?? []);
}

/**
 * The GPUs of such a vendor count for every fleet. Those of another count only for a fleet with images for them: most machines have the GPU of a
 * processor.
 */
export const countsAlways: Readonly<Record<GpuVendor, boolean>> = { nvidia: true, amd: false };

/** The vendor of the GPUs that a problem is about. The codes of the first vendor bear no name. */
export function vendorOfProblem({ code }: HostProblem): GpuVendor {
  return gpuVendors.find((vendor) => code.startsWith(`HOST_${vendor.toUpperCase()}_`)) ?? gpuVendors[0];
}
