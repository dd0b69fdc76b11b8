/** Reads host facts once into the values that the rules compare, so that no rule parses text. */

import { parseVersion, type VersionParts } from "../hardware/driver-version.ts";
import type { HostFacts, HostProblem } from "../host/facts.ts";
import type { GpuVendor } from "../lock/requirement.ts";
import { type AmdView, unknownAmdFacts, viewAmd } from "./amd-view.ts";
import { type NvidiaView, unknownNvidiaFacts, viewNvidia } from "./nvidia-view.ts";

/** A vendor's GPUs and driver, as the rules compare them. */
export interface VendorView extends Record<GpuVendor, SideView> {
  readonly nvidia: NvidiaView;
  readonly amd: AmdView;
}

export interface SideView {
  /** A driver drives the cards. */
  readonly driven: boolean;
  /** The GPUs that programs use. */
  readonly gpus: readonly { readonly label: string }[];
}

type BySideView = { readonly [V in GpuVendor]: VendorView[V] | null };

export interface HostView extends BySideView {
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

export function viewHost(facts: HostFacts): HostView {
  const features = facts.cpu.features;
  const kernel = facts.kernel === null ? null : parseVersion(facts.kernel);
  return {
    platform: normalizePlatform(facts.platform),
    kernel: facts.kernel === null || kernel === null ? null : { text: facts.kernel, parts: kernel },
    cpu: { model: facts.cpu.model, level: facts.cpu.level },
    // Every processor has features: an empty list is one that could not be read.
    features: features === null || features.length === 0 ? null : new Set(features),
    unknownFeatures: new Set(facts.cpu.unknown ?? []),
    nvidia: viewNvidia(facts),
    amd: viewAmd(facts),
    unknownGpuFacts: { nvidia: unknownNvidiaFacts(facts), amd: unknownAmdFacts(facts) },
    runtime: facts.runtime.nvidia,
    broken: facts.problems.filter(isBroken),
    otherProblems: facts.problems.filter((problem) => !isBroken(problem)),
  };
}

/**
 * States from which the host's GPUs may come back, so that "it has none" would be wrong. A device without a driver and a container without
 * devices are no such states: those hosts have no usable GPUs.
 */
const brokenStates = {
  HOST_DRIVER_LIBRARY_MISMATCH: "kernel module and user-space library differ until the next reboot",
  HOST_GPU_LOST: "a GPU fell off the bus",
  HOST_NVML_FAILED: "the driver answers with an error",
  // The kernel module stays loaded only if it found a card, so "No devices were found" is a card that failed to start.
  HOST_NO_DEVICES: "the driver is loaded and finds no device",
  // nvidia-smi is NVML too, and runs only if nothing else could answer.
  HOST_SMI_TIMEOUT: "the driver hangs",
  HOST_SMI_FAILED: "nvidia-smi ends with an error that it does not explain",
  HOST_MIG_EMPTY: "MIG mode is on and no instance is there",
  HOST_FABRIC_NOT_READY: "a GPU is not registered with its NVSwitch fabric",
  HOST_NO_UVM: "a container that was given CUDA has no /dev/nvidia-uvm",
  HOST_AMD_GPU_SKIPPED: "the driver has a GPU that its compute driver does not list",
} as const satisfies Partial<Record<HostProblem["code"], string>>;

export function isBroken({ code }: HostProblem): boolean {
  return Object.hasOwn(brokenStates, code);
}

/** The visible GPUs of these vendors under a driver. */
export function usableGpus(
  { nvidia, amd }: Pick<HostView, "nvidia" | "amd">,
  vendors: readonly GpuVendor[],
): readonly { readonly label: string; readonly vendor: GpuVendor }[] {
  const of = (vendor: GpuVendor, gpus: readonly { readonly label: string }[]) =>
    vendors.includes(vendor) ? gpus.map(({ label }) => ({ label, vendor })) : [];
  return [
    ...of("nvidia", nvidia?.driverText == null ? [] : nvidia.gpus),
    ...of("amd", amd?.driven === true ? amd.gpus : []),
  ];
}

/** The vendor of the GPUs that a problem is about. */
export function vendorOfProblem({ code }: HostProblem): GpuVendor {
  return code.startsWith("HOST_AMD_") ? "amd" : "nvidia";
}

/** Some tools call `linux/arm64` `linux/arm64/v8`. Source: containerd's platforms.Normalize. */
export function normalizePlatform(platform: string): string {
  return platform.endsWith("/arm64/v8") || platform.endsWith("/amd64/v1") ? platform.slice(0, -3) : platform;
}
