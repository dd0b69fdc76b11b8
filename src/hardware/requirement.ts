/** The requirement of an image: declared by a matrix, written into a label, a lock and an index, judged by the rules. */

/** The needs of an image from a host. */
export interface Requirement {
  readonly cpu: CpuRequirement;
  /** null for an image without GPU code for NVIDIA. */
  readonly cuda: CudaRequirement | null;
  /** Absent for an image without GPU code for AMD. One that has both takes what the host has. */
  readonly rocm?: RocmRequirement;
  /** An accelerator that nobody judges, as the matrix calls it: `vulkan`. Such an image is taken where it is pinned, and never else. */
  readonly accelerator?: string;
  /** Oldest kernel on which the image's libc runs, for example `3.2.0`. */
  readonly kernel?: string;
}

/** An image that carries several of a kind, and takes one when it runs: the host must meet one of each kind. */
interface Alternative<Other> {
  /** How the image calls it, for example its folder, `cuda_v12`, or a part of its file's name, `haswell`. */
  readonly by?: string;
  /** The others, best first. Who does not know them asks for too much, never for too little. */
  readonly or?: readonly Omit<Other, "or">[];
}

export interface CpuRequirement extends Alternative<CpuRequirement> {
  /** The compiler's name, for example `x86-64-v3` or `neoverse-n1`. */
  readonly march: string;
  /** Linux names as in `/proc/cpuinfo`, sorted: the march less its `without`, plus the floor of the base image. */
  readonly features: readonly string[];
}

export interface CudaRequirement extends Alternative<CudaRequirement> {
  /** Full version, for example `12.8.1`. */
  readonly toolkit: string;
  /** Code in the image: SASS as `sm_90a`, PTX as `compute_90`. */
  readonly code: readonly string[];
  readonly driver: DriverRequirement;
  /** `NVIDIA_REQUIRE_CUDA` expression of the base image. */
  readonly require?: string;
}

export interface RocmRequirement extends Alternative<RocmRequirement> {
  /** ROCm release of the image's own runtime, for example `7.2`. */
  readonly release: string;
  /** Code in the image: target ids as `gfx942` and `gfx90a:sramecc+:xnack-`, generic targets as `gfx11-generic`, SPIR-V as `amdgcnspirv`. */
  readonly code: readonly string[];
}

/** In their order: on a host with cards of both, an image for the first is the better one. */
export const gpuVendors = ["nvidia", "amd"] as const;
export type GpuVendor = (typeof gpuVendors)[number];

/** As people write them. */
export const vendorNames = { nvidia: "NVIDIA", amd: "AMD" } as const satisfies Record<GpuVendor, string>;

type GpuSides = Pick<Requirement, "cuda" | "rocm">;

/** The vendors for whose GPUs an image has code, in their order. */
export function vendorsOf({ cuda, rocm }: GpuSides): readonly GpuVendor[] {
  // Others write null for what is not there.
  return [...(cuda === null ? [] : ["nvidia" as const]), ...(rocm == null ? [] : ["amd" as const])];
}

/** Whether an image has GPU code of any vendor that imgmatch judges. */
export function hasGpuCode(requires: GpuSides): boolean {
  return vendorsOf(requires).length > 0;
}

/** The GPU side of an image that has none. */
export const noGpus = { cuda: null } as const;

export type DriverRequirement =
  /** Injected by the container runtime: the kernel driver must be at least `minimum`. */
  | { readonly mode: "host"; readonly minimum: string }
  /** User-space driver inside the image: the kernel module must be exactly `version`. */
  | { readonly mode: "bundled"; readonly version: string }
  /** NVIDIA's forward-compatibility package inside the image. `branches` are kernel driver branches such as `535`. */
  | {
      readonly mode: "compat";
      readonly package: string;
      readonly cuda: string;
      readonly branches: readonly string[];
      /** Branches that libcuda's own note lists, by which a container toolkit decides; absent where none was read. */
      readonly listed?: readonly string[];
      /** Absent where nobody has looked, and where its files do not decide it. */
      readonly onPath?: OnPath;
    };

/**
 * Whether the loader of an image finds its forward-compatibility package. `always`: before the host's library, whatever the container
 * runtime does; `cache`: by `ld.so.conf`, so before the host's where the runtime keeps its order; `never`: the image does nothing for it.
 */
export type OnPath = (typeof onPaths)[number];
export const onPaths = ["always", "cache", "never"] as const;

/** The rules by which {@link Measured} is found now. What was measured by others is not used: the declared requirement holds. */
export const measuredRules = 1;

/** The part of the declared requirement that the image's files showed. It only ever drops. */
export interface Measured {
  /** {@link measuredRules} of the imgmatch that measured. */
  readonly rules: number;
  readonly cpu: {
    /** Declared features that no file that counts uses, sorted. */
    readonly unused: readonly string[];
    /** Only where its own programs have no instruction beyond its architecture's baseline, though its march has AVX or SVE. */
    readonly own?: "baseline";
  };
  /** null for an image without GPU code for NVIDIA. */
  readonly cuda: {
    /** GPU targets found, as in {@link CudaRequirement.code}. */
    readonly code: readonly string[];
    /** Oldest driver that loads the code, as found; null where the files do not decide it. */
    readonly minimum: string | null;
  } | null;
  /** Absent for an image without GPU code for AMD. */
  readonly rocm?: {
    /** GPU targets that all its libraries serve, as in {@link RocmRequirement.code}. */
    readonly code: readonly string[];
  };
}
