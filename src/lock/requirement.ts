/** The requirement of an image. A matrix declares the requirement; labels, lock and index carry it; the rules judge it. */

import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";

/** The needs of an image from a host. */
export interface Requirement {
  readonly cpu: CpuRequirement;
  /** null for an image without GPU code for NVIDIA. */
  readonly cuda: CudaRequirement | null;
  /** Absent for an image without GPU code for AMD. An image for both vendors runs on either. */
  readonly rocm?: RocmRequirement;
  /** An accelerator without rules, as the matrix names it: `vulkan`. Only a pin selects such an image. */
  readonly accelerator?: string;
  /** Oldest kernel on which the image's libc runs, for example `3.2.0`. */
  readonly kernel?: string;
}

/** For an image that carries several variants and picks one at run time: the host must meet one of them. */
interface Alternative<Other> {
  /** The image's name for the variant: its folder, `cuda_v12`, or a part of its file's name, `haswell`. */
  readonly by?: string;
  /** The other variants, best first. A reader that ignores them demands too much, never too little. */
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
  /** Code in the image: SASS as `sm_90a`, PTX as `compute_90`, and as `compute_50@6.5` where its ISA is not the toolkit's own. */
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

/** The key of each vendor's needs in a requirement. */
export const sideKeys = { nvidia: "cuda", amd: "rocm" } as const satisfies Record<
  GpuVendor,
  keyof Requirement
>;

export type GpuSides = Pick<Requirement, (typeof sideKeys)[GpuVendor]>;

/** The needs from the GPUs of each vendor. */
export type GpuNeeds = { readonly [V in GpuVendor]: NonNullable<Requirement[(typeof sideKeys)[V]]> };

/** A requirement's GPU side: a vendor, and the needs from its GPUs. */
export type Side<Vendor extends GpuVendor = GpuVendor> = {
  readonly [V in Vendor]: { readonly vendor: V; readonly needs: GpuNeeds[V] };
}[Vendor];

/** A question with an answer for each vendor. */
export type BySide<Answer, Asked extends readonly unknown[] = []> = {
  readonly [V in GpuVendor]: (needs: GpuNeeds[V], ...asked: Asked) => Answer;
};

/** The needs from the GPUs of one vendor; null if the image has no code for them. Other programs write null for an absent side. */
export function needsOf<Vendor extends GpuVendor>(vendor: Vendor, requires: GpuSides) {
  return (requires[sideKeys[vendor]] ?? null) as GpuNeeds[Vendor] | null;
}

/** The variants that an image carries of a kind, best first: the first stands for itself. */
export function variantsOf<Needs extends { readonly or?: readonly object[] }>(needs: Needs | null) {
  return needs === null ? [] : [needs, ...((needs.or ?? []) as readonly Omit<Needs, "or">[])];
}

/** The GPU sides of an image, in the vendors' order. Empty for an image without GPU code. */
export function sidesOf(requires: GpuSides): readonly Side[] {
  return gpuVendors.flatMap((vendor) => {
    const needs = needsOf(vendor, requires);
    return needs === null ? [] : [{ vendor, needs } as Side];
  });
}

/** The vendor's answer about a side. */
export function answerOfSide<Vendor extends GpuVendor, Answer, Asked extends readonly unknown[]>(
  answers: BySide<Answer, Asked>,
  { vendor, needs }: Side<Vendor>,
  ...asked: Asked
): Answer {
  return answers[vendor](needs, ...asked);
}

/** The release of the toolkit in the image. */
export const releaseOf: BySide<string> = { nvidia: ({ toolkit }) => toolkit, amd: ({ release }) => release };

/** The vendors for whose GPUs an image has code, in their order. */
export function vendorsOf(requires: GpuSides): readonly GpuVendor[] {
  return sidesOf(requires).map(({ vendor }) => vendor);
}

/** True if an image needs GPUs of a vendor that imgmatch judges. */
export function needsGpus(requires: GpuSides): boolean {
  return vendorsOf(requires).length > 0;
}

/** True if an image needs GPUs and claims to have no GPU code of its own. Only a look at the image's files shows whether it has some. */
export function claimsNoCode(requires: GpuSides): boolean {
  return sidesOf(requires).some(({ needs }) => needs.code.length === 0);
}

/** The GPU side of an image that has none. */
export const noGpus = { cuda: null } as const;

/** The requirement with this GPU side in place of its own. */
export function withSide(requires: Requirement, side: Side | null): Requirement {
  const keys: readonly string[] = Object.values(sideKeys);
  const others = Object.entries(requires).filter(([key]) => !keys.includes(key));
  const own = side === null ? {} : { [sideKeys[side.vendor]]: side.needs };
  return { ...(Object.fromEntries(others) as Omit<Requirement, keyof GpuSides>), ...noGpus, ...own };
}

/** The accelerator axis of each vendor. */
const axisOf: BySide<Readonly<Record<string, string>>> = {
  nvidia: ({ toolkit }) => ({ cuda: toolkit }),
  amd: ({ release }) => ({ accel: `rocm-${release.split(".").slice(0, 2).join(".")}` }),
};

/** The accelerator axes that a matrix would have for it. An image with code of several vendors has one for each. */
export function acceleratorOf(requires: Requirement): Readonly<Record<string, string>> {
  if (!needsGpus(requires)) return { cuda: "none" };
  return Object.assign({}, ...sidesOf(requires).map((side) => answerOfSide(axisOf, side)));
}

export type DriverRequirement =
  /** Injected by the container runtime: the kernel driver must be at least `minimum`. */
  | {
      readonly mode: "host";
      readonly minimum: string;
      /** The major of the L4T release on which the image is built: `36`. Absent if there is none, or if nobody knows. */
      readonly l4t?: string;
      readonly links?: DroppedLinks;
    }
  /** User-space driver inside the image: the kernel module must be exactly `version`. */
  | { readonly mode: "bundled"; readonly version: string }
  /** NVIDIA's forward-compatibility package inside the image. `branches` are kernel driver branches such as `535`. */
  | {
      readonly mode: "compat";
      readonly package: string;
      readonly cuda: string;
      readonly branches: readonly string[];
      /** A package for Jetson, whose libcuda has no driver's version: `package` is the CUDA version. Absent for the package of servers. */
      readonly for?: "jetson";
      /** The branches in libcuda's own note, which a container toolkit obeys; absent if none was read. */
      readonly listed?: readonly string[];
      /** Absent if nobody looked, or if the files do not decide it. */
      readonly onPath?: OnPath;
      readonly links?: DroppedLinks;
    };

/** Libraries of a Jetson's driver that JetPack 7 has dropped, each with a file that links the library. Absent if nobody looked. */
export type DroppedLinks = Readonly<Record<string, string>>;

/**
 * How the loader of an image finds its forward-compatibility package. `always`: before the host's library, under any container runtime.
 * `cache`: through `ld.so.conf`, before the host's if the runtime keeps that order. `never`: the image does nothing for it.
 */
export type OnPath = (typeof onPaths)[number];
export const onPaths = ["always", "cache", "never"] as const;

/** The version of the rules that find {@link Measured}. If an image was measured by another version, its declared requirement holds. */
export const measuredRules = 1;

/** The part of the declared requirement that the image's files show. It only ever drops needs. */
export interface Measured {
  /** {@link measuredRules} of the imgmatch that measured. */
  readonly rules: number;
  readonly cpu: {
    /** Declared features that no file that counts uses, sorted. */
    readonly unused: readonly string[];
    /** Set if the image's own programs use only the baseline of their architecture, although its march has AVX or SVE. */
    readonly own?: "baseline";
  };
  /** null for an image without GPU code for NVIDIA. */
  readonly cuda: {
    /** GPU targets found, as in {@link CudaRequirement.code}. */
    readonly code: readonly string[];
    /** Oldest driver that loads the code, as found; null if the files do not decide it. */
    readonly minimum: string | null;
  } | null;
  /** Absent for an image without GPU code for AMD. */
  readonly rocm?: {
    /** GPU targets that all its libraries serve, as in {@link RocmRequirement.code}. */
    readonly code: readonly string[];
  };
}
