/** The GPU code of files, by vendor: its libraries, its targets, and the code whose targets are unknown. */

import type { GpuVendor } from "../hardware/gpu-vendors.ts";
import { amdLibraries, amdOf, amdTargets } from "./amd/amd-libraries.ts";
import type { InspectedFile } from "./file-inspection.ts";
import { isNvidiaLibrary } from "./nvidia/driver-files.ts";
import { cudaCodeEntry } from "../hardware/ptx-versions.ts";
import { applicationFiles, cudaCode, cudaTargets, gpuOf, type TargetCount } from "./nvidia/gpu-inspection.ts";

type Files = readonly InspectedFile[];

export interface Library {
  readonly path: string;
  readonly targets: readonly string[];
  /** Targets of code that the library may load by itself: cuFFT registers one kernel and carries the others. */
  readonly carried?: readonly TargetCount[];
  readonly files: Files;
}

interface VendorCode {
  readonly libraries: (files: Files) => readonly Library[];
  readonly targets: (files: Files) => readonly string[];
  /** The code of a library, in the words of a requirement of this release. */
  readonly codeOf: (library: Library, release: string) => readonly string[];
  /** Code that has no target, or an unknown one, in words. */
  readonly others: (files: Files) => readonly string[];
  /** Unknown kinds of code: they may be for any target. */
  readonly unknownKinds: (file: InspectedFile) => readonly string[];
  readonly unknownText: string;
  /** The GPU's vendor made the library: cuBLAS, NCCL. */
  readonly isOfVendor: (path: string) => boolean;
}

export const vendorCode: Readonly<Record<GpuVendor, VendorCode>> = {
  nvidia: {
    libraries: (files) =>
      applicationFiles(files)
        .filter(({ gpu }) => gpu.modules > 0)
        .map((file) => ({
          ...{ path: file.path, targets: cudaTargets([file]), files: [file] },
          carried: file.gpu.embedded,
        })),
    targets: cudaTargets,
    codeOf: ({ files, carried = [] }, toolkit) => [
      ...cudaCode(files, toolkit),
      ...carried.map(({ target, isa }) => cudaCodeEntry(target, isa ?? null, toolkit)),
    ],
    others: (files) => {
      const { lto = [], unknownKinds = [] } = gpuOf(files) ?? {};
      return [...lto.map((target) => `lto:${target}`), ...unknownKinds.map((kind) => `unknown kind ${kind}`)];
    },
    unknownKinds: ({ gpu }) => gpu?.unknown.map(({ kind }) => `${kind}`) ?? [],
    unknownText: "GPU code of unknown kind",
    isOfVendor: isNvidiaLibrary,
  },
  amd: {
    libraries: amdLibraries,
    targets: amdTargets,
    codeOf: ({ targets }) => targets,
    others: (files) => amdOf(files)?.unknown ?? [],
    unknownKinds: ({ amd }) => Object.keys(amd?.unknown ?? {}),
    unknownText: "GPU code that is not known",
    // Its targets are those that all libraries have.
    isOfVendor: () => false,
  },
};
