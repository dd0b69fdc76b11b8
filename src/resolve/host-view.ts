/** Reads host facts once into the values that the rules compare, so that no rule parses text. */

import { type ComputeCapability, parseComputeCapability } from "../hardware/compute-capability.ts";
import { cudaOfDriver } from "../hardware/cuda-toolkits.ts";
import {
  type CudaVersion,
  compareVersions,
  driverBranch,
  type DriverVersion,
  parseCudaVersion,
  parseDriverVersion,
  parseVersion,
  type VersionParts,
} from "../hardware/driver-version.ts";
import type { GpuClass } from "../hardware/gpu-class.ts";
import { remember } from "../io/collections.ts";
import type { GpuVendor } from "../lock/requirement.ts";
import type { DriverScale, GpuFacts, HostFacts, HostProblem, NvidiaFacts } from "../host/facts.ts";
import { type AmdView, unknownAmdFacts, viewAmd } from "./amd-view.ts";

export interface HostView {
  /** Without the variant that its architecture implies: `linux/arm64` for `linux/arm64/v8`. */
  readonly platform: string;
  readonly kernel: { readonly text: string; readonly parts: VersionParts } | null;
  readonly cpu: { readonly model: string | null; readonly level: string | null };
  /** null if the system does not tell. */
  readonly features: ReadonlySet<string> | null;
  /** Features of which the facts do not say whether the CPU has them. */
  readonly unknownFeatures: ReadonlySet<string>;
  readonly nvidia: NvidiaView | null;
  readonly amd: AmdView | null;
  /** Paths of unknown facts that decide whether an image with code for the vendor's GPUs runs. */
  readonly unknownGpuFacts: Readonly<Record<GpuVendor, readonly string[]>>;
  readonly runtime: HostFacts["runtime"]["nvidia"];
  /** Problems after which no answer about this host's GPUs is true. */
  readonly broken: readonly HostProblem[];
  /** The other problems that the probe found. */
  readonly otherProblems: readonly HostProblem[];
}

export interface NvidiaView {
  /** null for a device without a driver, and for a version that cannot be read. */
  readonly driver: DriverVersion | null;
  /** The driver as the facts name it, for messages. */
  readonly driverText: string | null;
  readonly module: "open" | "proprietary" | null;
  /** The driver's CUDA version, as it reports it or by its branch; null when neither is known. */
  readonly cuda: CudaVersion | null;
  /** The numbering of the driver's versions. */
  readonly scale: DriverScale;
  readonly gpus: readonly GpuView[];
  readonly compat: CompatView;
}

/** The treatment of an image's forward-compatibility package by this host's container toolkit. */
export interface CompatView {
  /** The packages that it puts before the host's library. null if unknown, or if it depends on the start of the container. */
  readonly adds: CompatAdds | null;
  /** The host's library comes before the folders of the image's `ld.so.conf`. null if unknown. */
  readonly hostFirst: boolean | null;
}

/**
 * `newer`: a package of a newer branch than the driver's; `listed`: a newer package whose libcuda lists the driver's branch.
 */
export type CompatAdds = (typeof compatAdds)[number];
export const compatAdds = ["newer", "listed", "never"] as const;

export interface GpuView {
  /** `GPU 0 (NVIDIA H100 80GB HBM3)` */
  readonly label: string;
  readonly compute: ComputeCapability | null;
  readonly class: GpuClass;
  /** The name in `NVIDIA_REQUIRE_CUDA`; null if the facts do not prove it. */
  readonly brand: string | null;
  /** The brand under another driver: some brands depend on the branch. */
  readonly brandUnder?: (driver: DriverVersion) => string | null;
}

const views = new WeakMap<HostFacts, HostView>();

/** All parts of an answer that ask about the same facts get the same view. */
export function viewHost(facts: HostFacts): HostView {
  return remember(views, facts, () => readView(facts));
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

/**
 * nvidia-container-cli gives ldconfig the host's folder before all others. CDI writes it into `ld.so.conf.d`, and so does the NVIDIA runtime
 * since 1.18, but not `docker run --gpus`. The hook reads the note in libcuda since 1.20, and compared branches before, also in place of nvidia-container-cli. Sources: libnvidia-container, `src/nvc_ldcache.c`;
 * nvidia-container-toolkit, `internal/ldconfig`, `cmd/nvidia-cdi-hook/cudacompat`, CHANGELOG.md.
 */
function viewCompat({ nvidia, toolkit, compat }: HostFacts["runtime"]): CompatView {
  const version = toolkit === undefined ? null : parseVersion(toolkit);
  const since = (first: VersionParts) => (version === null ? null : compareVersions(version, first) >= 0);
  const isKnown = nvidia === "cdi" || nvidia === "legacy";
  if (!isKnown) return { adds: null, hostFirst: null };
  const isNew = since([1, 18]);
  const hostFirst = nvidia === "cdi" ? false : isNew === null ? null : !isNew;
  const adds = (): CompatAdds | null => {
    if (compat === undefined) return null;
    if (compat === "disabled") return nvidia === "legacy" && isNew !== false ? null : "never";
    if (compat !== "hook") return "newer";
    const byNote = nvidia === "legacy" ? null : since([1, 20]);
    return byNote === null ? null : byNote ? "listed" : "newer";
  };
  return { adds: adds(), hostFirst };
}

function viewNvidia(facts: HostFacts): NvidiaView | null {
  const { nvidia } = facts;
  if (nvidia == null) return null;
  const scale = scaleOf(nvidia);
  const driver = nvidia.driver === null ? null : parseDriverVersion(nvidia.driver);
  const reported = nvidia.cuda === null ? null : parseCudaVersion(nvidia.cuda);
  const byBranch = driver === null || scale !== "linux" ? null : cudaOfDriver(driver.text);
  return {
    driver,
    driverText: nvidia.driver,
    module: nvidia.module,
    cuda: reported ?? (byBranch === null ? null : parseCudaVersion(byBranch)),
    scale,
    compat: viewCompat(facts.runtime),
    gpus: nvidia.gpus.map((gpu) => ({
      label: gpu.name === null ? `GPU ${gpu.index}` : `GPU ${gpu.index} (${gpu.name})`,
      compute: gpu.compute === null ? null : parseComputeCapability(gpu.compute),
      class: gpu.class,
      brand: brandOf(gpu, scale === "linux" ? driver : null),
      brandUnder: (other) => brandOf(gpu, scale === "linux" ? other : null),
    })),
  };
}

function unknownNvidiaFacts({ nvidia }: HostFacts): readonly string[] {
  if (nvidia === undefined) return ["nvidia"];
  const { unknown = [], driver, gpus } = nvidia ?? noNvidia;
  // Without a driver no image with GPU code runs, whatever the GPU is.
  const ofGpus =
    driver === null
      ? []
      : gpus.flatMap(({ compute }, at) => (compute === null ? [`gpus[${at}].compute`] : []));
  return [...unknown, ...ofGpus].map((fact) => `nvidia.${fact}`);
}

const noNvidia: Pick<NvidiaFacts, "driver" | "gpus" | "unknown"> = { driver: null, gpus: [] };

function scaleOf({ driverScale, gpus }: NvidiaFacts): DriverScale {
  if (driverScale !== undefined) return driverScale;
  return gpus.length > 0 && gpus.every((gpu) => gpu.class === "tegra") ? "l4t" : "linux";
}

/**
 * Facts have no brand, so it is read from the product's name. null if name and driver do not decide it.
 * Data-centre cards were `Tesla` and became `NVIDIA`: drivers up to R440 print the first, from R515 on the second
 * (`product_brand` in nvidia-smi's XML of a Tesla T4, an A10G, an A100 and an H100), between them it is not known.
 */
export function brandOf(gpu: Pick<GpuFacts, "name" | "class">, driver: DriverVersion | null): string | null {
  const name = gpu.name?.replace(/^NVIDIA\s+/i, "") ?? "";
  const named = brandsByName.find(([pattern]) => pattern.test(name));
  if (named !== undefined) return named[1];
  if (gpu.class !== "datacenter" || driver === null) return null;
  const branch = driverBranch(driver);
  if (branch <= 440) return "tesla";
  return branch >= 515 ? "nvidia" : null;
}

/** Source: `product_brand` beside `product_name` in captured nvidia-smi XML (RTX 3090, RTX 4000 SFF Ada, Quadro P2000). */
export const brandsByName: readonly (readonly [RegExp, string])[] = [
  [/^GeForce\b/i, "geforce"],
  [/^TITAN\b/i, "titan"],
  [/^Quadro RTX\b/i, "quadrortx"],
  [/^Quadro\b/i, "quadro"],
  [/^RTX\b/i, "nvidiartx"],
  [/^NVS\b/i, "nvs"],
];
