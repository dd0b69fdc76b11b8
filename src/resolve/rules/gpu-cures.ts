/** Cures that depend on the GPUs: a newer driver may drop one, and the image's toolkit may not compile for it. */

import { type ComputeCapability, formatComputeCapability } from "../../hardware/compute-capability.ts";
import { cudaOfDriver, findToolkit, toolkitCompiles } from "../../hardware/cuda-toolkits.ts";
import {
  compareVersions,
  driverBranch,
  parseDriverVersion,
  parseVersion,
} from "../../hardware/driver-version.ts";
import { findArchitecture } from "../../hardware/gpu-architectures.ts";
import type { GpuView, NvidiaView } from "../host-view.ts";
import type { Cure } from "../verdict.ts";

type Gpus = readonly Pick<GpuView, "label" | "compute">[];

/**
 * `update the NVIDIA driver: 470.256.02 → >= 525.60.13`, unless that branch no longer drives a visible GPU.
 * Source: NVIDIA data-center driver documentation, "CUDA Toolkit, Driver and Architecture Matrix".
 */
export function updateDriver(
  minimum: string,
  { driverText, gpus, scale }: NvidiaView,
  note = "",
): readonly Cure[] {
  const wanted = parseDriverVersion(minimum);
  const last = scale === "linux" ? lastBranch(gpus) : null;
  if (wanted === null || last === null || driverBranch(wanted) <= last.branch)
    return [
      {
        text: `update the NVIDIA driver: ${driverText} → >= ${minimum}${note}`,
        remedy: { kind: "driver", version: minimum, atLeast: true },
      },
    ];
  const why = `no driver >= ${minimum} drives ${last.label}, ${last.branch} is the last branch that does`;
  return [
    {
      text: `add a cell with an older toolkit: ${why}`,
      remedy: null,
      adopted: `adopt an image of an older toolkit: ${why}`,
    },
  ];
}

/** Some driver offers this CUDA version and still drives every GPU, as far as the tables know. */
export function someDriverOffers(cuda: string, gpus: Gpus): boolean {
  const last = lastBranch(gpus);
  const offered = parseVersion(last === null ? "" : (cudaOfDriver(String(last.branch)) ?? ""));
  const wanted = parseVersion(cuda);
  return offered === null || wanted === null || compareVersions(offered, wanted) >= 0;
}

/** `add compute=9.0 to the image's cell`, unless its toolkit does not compile for that. */
export function addCode(toolkit: string, compute: ComputeCapability): Cure {
  const number = formatComputeCapability(compute);
  const known = findToolkit(toolkit);
  const architecture = findArchitecture(compute);
  const compiles = known === null ? null : toolkitCompiles(known, { kind: "sass", compute, suffix: "" });
  const remedy = { kind: "cell", axes: { compute: number } } as const;
  const adopted = `adopt an image with code for compute capability ${number}`;
  if (architecture === null || compiles !== false)
    return { text: `add compute=${number} to the image's cell`, remedy, adopted };
  const { firstToolkit, lastToolkit } = architecture;
  const which = lastToolkit === null ? `${firstToolkit} or newer` : `${firstToolkit} to ${lastToolkit}`;
  const text = `add a cell with compute=${number} and CUDA ${which}: CUDA ${toolkit} does not compile for it`;
  return { text, remedy: null, adopted };
}

/** Some GPUs have code: without the others the image runs. */
export function hideGpus(lacking: readonly unknown[], gpus: readonly unknown[]): readonly Cure[] {
  if (lacking.length === gpus.length) return [];
  return [{ text: lacking.length === 1 ? "hide this GPU" : "hide these GPUs", remedy: null }];
}

/** The oldest of the last branches that drive the GPUs, with the GPU. */
function lastBranch(gpus: Gpus): { readonly branch: number; readonly label: string } | null {
  return gpus.reduce<ReturnType<typeof lastBranch>>((oldest, { label, compute }) => {
    const branch = compute === null ? null : (findArchitecture(compute)?.lastDriverBranch ?? null);
    return branch === null || (oldest !== null && oldest.branch <= branch) ? oldest : { branch, label };
  }, null);
}
