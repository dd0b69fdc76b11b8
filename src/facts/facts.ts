/** Host facts: what the probe read from a machine. Unknown is null, never a guess, and never the same as "no". */

import type { Problem } from "../errors.ts";
import type { GpuClass } from "../hardware/gpu-class.ts";
import type { GpuVendor } from "../hardware/gpu-vendors.ts";

export type { GpuClass };

export const factsSchemaVersion = 1;

/** The facts that every vendor's GPUs and drivers have. */
interface AnySide {
  readonly driver: string | null;
  readonly gpus: readonly Pick<
    GpuFacts,
    "index" | "uuid" | "name" | "pci" | "bus" | "memoryMiB" | "numa" | "links"
  >[];
  readonly unknown?: readonly OpenGpuFact[];
}

/** The facts of a vendor's GPUs and driver. */
export interface VendorFacts extends Record<GpuVendor, AnySide> {
  readonly nvidia: NvidiaFacts;
  readonly amd: AmdFacts;
}

/** Each vendor's facts under its name: null without device and driver, absent when unknown. */
type FactsByVendor = { readonly [V in GpuVendor]?: VendorFacts[V] | null | undefined };

export interface HostFacts extends FactsByVendor {
  readonly schemaVersion: typeof factsSchemaVersion;
  /** `os/architecture` in OCI words, for example `linux/arm64`. */
  readonly platform: string;
  /** Kernel release reduced to its number, for example `6.8.0`. */
  readonly kernel: string | null;
  readonly cpu: CpuFacts;
  /** null when there is neither an NVIDIA device nor a driver; absent when that is unknown. */
  readonly nvidia?: NvidiaFacts | null | undefined;
  /** null when there is neither an AMD GPU nor its driver; absent when that is unknown. */
  readonly amd?: AmdFacts | null | undefined;
  readonly runtime: RuntimeFacts;
  readonly problems: readonly HostProblem[];
  /** Dotted path of a fact → where it was read, for example `cpu.features` → `/proc/cpuinfo`. */
  readonly sources: Readonly<Record<string, string>>;
}

/** The way of containers to each vendor's GPUs. */
type ContainersByVendor = { readonly [V in GpuVendor]?: ContainerGpus | null | undefined };

export interface RuntimeFacts extends ContainersByVendor {
  readonly nvidia: ContainerGpus | null;
  /** Only for a host with `amd`. */
  readonly amd?: ContainerGpus | null | undefined;
  /** Version of NVIDIA's container toolkit, for example `1.17.8`; absent if unknown, as is `compat`. */
  readonly toolkit?: string;
  readonly compat?: CompatMode;
  /** What hands NVIDIA's GPUs to containers and is older than the driver: it hands over other files than the driver's. Absent if none is, or if unknown. */
  readonly outdated?: Outdated;
}

export const outdatedParts = ["toolkit", "specification"] as const;

/** `toolkit`: does not know a library that the driver needs. `specification`: one of CDI, which names another driver's libraries. */
export type Outdated = (typeof outdatedParts)[number];

export const containerGpus = ["cdi", "legacy", "none"] as const;

/** The way of containers to GPUs: a CDI specification, the vendor's own runtime, or none. */
export type ContainerGpus = (typeof containerGpus)[number];

/**
 * The way in which the container toolkit puts an image's forward-compatibility package on the loader's path: nvidia-container-cli
 * (`ldconfig`, `mount`) or the hook `enable-cuda-compat` (`hook`). Each takes only a package that is newer than the driver.
 */
export type CompatMode = (typeof compatModes)[number];
export const compatModes = ["ldconfig", "mount", "hook", "disabled"] as const;

export interface CpuFacts {
  /** `GenuineIntel`, `AuthenticAMD`, `ARM`, `IBM`, … */
  readonly vendor: string | null;
  readonly model: string | null;
  /** Linux names, sorted, present on every processor; null if unknown. */
  readonly features: readonly string[] | null;
  /**
   * Linux names, sorted, of features that may be present or absent. Only if the source tells `features` in part, as the labels of
   * a Kubernetes node do.
   */
  readonly unknown?: readonly string[];
  /** Highest generic level that `features` prove: `x86-64-v3`, `armv8.2-a`, `power9`. */
  readonly level: string | null;
}

export interface NvidiaFacts {
  /**
   * Version of the loaded kernel module; null for a device without a driver, and for a driver that names no version.
   * On WSL2 the version of the Linux libraries, whose branch is that of the Windows driver; `driverScale` then says `wsl`.
   */
  readonly driver: string | null;
  /** The numbering of `driver`, if it is not that of Linux drivers. If absent, the class of the GPUs decides. */
  readonly driverScale?: DriverScale;
  readonly module: "open" | "proprietary" | null;
  /** Version of the user-space driver library. */
  readonly library: string | null;
  /** Highest CUDA version that the driver offers, for example `12.4`. */
  readonly cuda: string | null;
  /** `/dev/nvidia-uvm` is there, without which CUDA does not start. Absent if unknown, as on a bare host, where the first program that needs the node makes it. */
  readonly uvm?: boolean;
  /** The GPUs take work, where confidential computing is on. Absent where it is off or unknown. */
  readonly ready?: boolean;
  /** CUDA started here and found a device for each GPU. Absent if nobody asked it. */
  readonly starts?: boolean;
  /** In a host's facts the visible GPUs alone: those that device nodes, `CUDA_VISIBLE_DEVICES` and the like leave to a program. */
  readonly gpus: readonly GpuFacts[];
  /** Facts that are unknown: their values mean nothing. */
  readonly unknown?: readonly OpenGpuFact[];
}

export const openGpuFacts = ["driver", "gpus"] as const;
export type OpenGpuFact = (typeof openGpuFacts)[number];

export const driverScales = ["linux", "wsl", "l4t"] as const;

/**
 * `wsl`: a Windows driver, whose Linux library's number may stand for it. `l4t`: the driver of a Jetson, which comes with L4T. Neither
 * compares with the numbers of Linux drivers; the CUDA version does.
 */
export type DriverScale = (typeof driverScales)[number];

/** The place of a GPU among the others of its machine. */
interface GpuPlace {
  /** The NUMA node of its PCI device, null where the kernel names none. Absent if unknown. */
  readonly numa?: number | null;
  /** The indexes of the GPUs that NVLink or XGMI joins to it. Absent if unknown. */
  readonly links?: readonly number[];
}

export interface GpuFacts extends GpuPlace {
  readonly index: number;
  readonly uuid: string | null;
  readonly name: string | null;
  /** Compute capability, for example `9.0`. */
  readonly compute: string | null;
  /** `vendor:device` in hexadecimal, for example `10de:2330`. */
  readonly pci: string | null;
  /** PCI address with an eight-digit domain, for example `00000000:17:00.0`. */
  readonly bus: string | null;
  readonly memoryMiB: number | null;
  readonly class: GpuClass;
  readonly integrated: boolean | null;
  /** The instances where MIG mode is on, null where it is off; absent if unknown. */
  readonly mig?: readonly MigInstance[] | null | undefined;
  /** Absent if unknown. */
  readonly fabric?: FabricState | undefined;
  /** `prohibited`: no program gets a context. `exclusive`: one program at a time (nvml.h, `nvmlComputeMode_t`). Absent if unknown. */
  readonly computeMode?: ComputeMode;
  /** Absent if unknown. */
  readonly recovery?: RecoveryAction;
  /** A row of its memory could not be remapped, ever (nvml.h, `nvmlDeviceGetRemappedRows`). Absent if unknown. */
  readonly remapFailed?: boolean;
  /** Of the vGPU of a virtual machine, which the driver restricts after a while without a licence. Absent on other GPUs and if unknown. */
  readonly licensed?: boolean;
  readonly use: { readonly processes: number | null; readonly memoryMiB: number | null };
}

/**
 * The registration of a GPU with the fabric of its NVSwitches (nvml.h, `nvmlGpuFabricState_t`). `failed` is a fabric that completed with an
 * error, `none` a GPU without a fabric, such as a PCIe card.
 */
export type FabricState = (typeof fabricStates)[number];
export const fabricStates = ["none", "not-started", "in-progress", "completed", "failed"] as const;

export type ComputeMode = (typeof computeModes)[number];
export const computeModes = ["default", "exclusive", "prohibited"] as const;

/** What the driver asks for after a fault, in the order of `nvmlDeviceGpuRecoveryAction_t` (nvml.h); `other` is one of newer drivers. */
export type RecoveryAction = (typeof recoveryActions)[number];
export const recoveryActions = ["none", "reset", "reboot", "drain-p2p", "drain-and-reset", "other"] as const;

export interface MigInstance {
  readonly uuid: string;
  /** For example `3g.40gb`. */
  readonly profile: string;
}

export interface AmdFacts {
  /** Version of the loaded kernel module; null for the kernel's own module, which has none, and for a device without a driver. */
  readonly driver: string | null;
  /** The target that `HSA_OVERRIDE_GFX_VERSION` of this process names. No answer counts it. */
  readonly override?: string;
  /** In ROCm's order. Each partition of a card is a GPU. */
  readonly gpus: readonly AmdGpuFacts[];
  /** Facts that are unknown: their values mean nothing. */
  readonly unknown?: readonly OpenGpuFact[];
}

export interface AmdGpuFacts extends GpuPlace {
  readonly index: number;
  /** ROCm's spelling, for example `GPU-675bce773a2403eb`. The partitions of a card share it. */
  readonly uuid: string | null;
  readonly name: string | null;
  /** For example `gfx942`. */
  readonly target: string | null;
  /** True if error correction of the chip's own memories is on. Code may require either state. */
  readonly sramecc: boolean | null;
  /** `vendor:device` in hexadecimal, for example `1002:74a1`. */
  readonly pci: string | null;
  /** PCI address of the card, as Linux writes it: `0000:83:00.0`. */
  readonly bus: string | null;
  /** Its device node, for example `/dev/dri/renderD128`. */
  readonly render: string | null;
  readonly memoryMiB: number | null;
  readonly partition: ComputePartition | null;
  /** Part of a processor. */
  readonly integrated: boolean | null;
}

/** A card as one GPU (SPX), as two, three or four GPUs, or as a GPU for each compute die (CPX). */
export const computePartitions = ["SPX", "DPX", "TPX", "QPX", "CPX"] as const;
export type ComputePartition = (typeof computePartitions)[number];

/** The source of GPUs that the bus alone tells. */
export const pciPath = "/sys/bus/pci/devices";

/** A part of the facts, as its reader answers with it. */
export interface FactsPart<Facts> extends Pick<HostFacts, "problems" | "sources"> {
  readonly facts: Facts;
}

/** A {@link Problem} whose code begins with `HOST_`, without a place. */
export type HostProblem = Pick<Problem, "code" | "message" | "fix">;
