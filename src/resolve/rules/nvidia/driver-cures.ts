/** Cures by another driver. They depend on the GPUs: a newer driver may drop one. */

import { driverBranch, parseDriverVersion } from "../../../hardware/driver-version.ts";
import { findArchitecture } from "../../../hardware/gpu-architectures.ts";
import type { GpuView, NvidiaView } from "../../nvidia-view.ts";
import { byHand } from "../../misfit.ts";
import type { Cure } from "../../verdict.ts";

/** The cure by exactly this driver, or with `atLeast` by any newer driver too. */
export function otherDriver(text: string, version: string, atLeast = false): Cure {
  return { text, remedy: { kind: "driver", version, atLeast } };
}

type Gpus = readonly Pick<GpuView, "label" | "compute">[];

/**
 * `update the NVIDIA driver: 470.256.02 → >= 525.60.13`, unless that branch no longer drives a visible GPU.
 * Source: NVIDIA data-center driver documentation, "CUDA Toolkit, Driver and Architecture Matrix".
 */
export function updateDriver(minimum: string, { driverText, gpus }: NvidiaView, note = ""): readonly Cure[] {
  const wanted = parseDriverVersion(minimum);
  const last = lastDriverBranch(gpus);
  if (wanted === null || last === null || driverBranch(wanted) <= last.branch)
    return [otherDriver(`update the NVIDIA driver: ${driverText} → >= ${minimum}${note}`, minimum, true)];
  const why = `no driver >= ${minimum} drives ${last.label}, ${last.branch} is the last branch that does`;
  return [byHand(`add a cell with an older toolkit: ${why}`, `adopt an image of an older toolkit: ${why}`)];
}

/** The driver branch of JetPack 6, and the first one of JetPack 7. */
export const [jetPack6Branch, jetPack7Branch] = [540, 580] as const;

/** A Jetson's driver comes with JetPack alone. */
export function updateJetPack({ cuda }: Pick<NvidiaView, "cuda">, wanted: string): string {
  return `update JetPack, which brings the driver: ${cuda === null ? "an unknown CUDA version" : `CUDA ${cuda.text}`} → ${wanted}`;
}

/** The oldest of the last branches that drive the GPUs, with the GPU. */
export function lastDriverBranch(gpus: Gpus): { readonly branch: number; readonly label: string } | null {
  return gpus.reduce<ReturnType<typeof lastDriverBranch>>((oldest, { label, compute }) => {
    const branch = compute === null ? null : (findArchitecture(compute)?.lastDriverBranch ?? null);
    return branch === null || (oldest !== null && oldest.branch <= branch) ? oldest : { branch, label };
  }, null);
}
