/** Tries the cure "another driver": the driver must serve the image and drive every GPU of the host. */

import { type CudaRequirement, variantsOf } from "../../../lock/requirement.ts";
import { cudaOfDriver } from "../../../hardware/cuda-toolkits.ts";
import { findArchitecture } from "../../../hardware/gpu-architectures.ts";
import {
  compareVersionTexts,
  driverBranch,
  parseCudaVersion,
  parseDriverVersion,
} from "../../../hardware/driver-version.ts";
import { alternativesOf } from "../../../lock/alternatives.ts";
import { byHand } from "../../misfit.ts";
import type { NvidiaView } from "../../nvidia-view.ts";
import type { TrialOf } from "../../trial.ts";
import type { Cure, ReasonCode, Remedy } from "../../verdict.ts";
import { otherDriver } from "./driver-cures.ts";
import { driverThresholds } from "./driver.ts";
import { presenceThresholds } from "./nvidia-presence.ts";
import { requireThresholds } from "./nvidia-require.ts";

export function otherToolkit(nvidia: NvidiaView | null): Cure {
  const drives = nvidia?.gpus.map(({ label }) => label).join(", ") ?? "the GPUs";
  const why = `no driver serves this one and ${drives}`;
  return byHand(`add a cell with another toolkit: ${why}`, `adopt an image of another toolkit: ${why}`);
}

/** The proposed driver if it works, else the nearest that works, else none. */
export function tryDriver(
  cure: Cure,
  proposed: Remedy & { readonly kind: "driver" },
  code: ReasonCode,
  { image, host, trial }: TrialOf,
): readonly Cure[] {
  const { nvidia } = host;
  // The tables do not know what a driver's number means on another system.
  if (image.requires.cuda === null || nvidia === null || nvidia.driverScale !== "linux")
    return [{ ...cure, remedy: null }];
  const before = trial(image, host);
  const works = (version: string) => {
    const after = trial(image, { ...host, nvidia: underDriver(nvidia, version) });
    // A driver that leaves a card undriven is no cure, also if the present one does so too.
    if (after.has(code) || (nvidia.gpus.length > 0 && after.has("NO_GPU"))) return false;
    return [...after].every((each) => before.has(each));
  };
  if (works(proposed.version)) return [cure];
  const cudas = alternativesOf(image).flatMap(({ requires: { cuda } }) => variantsOf(cuda));
  const drivers = candidates(cudas, nvidia);
  const version = drivers.find(works);
  if (version === undefined) return [];
  // An expression may take one branch alone: then a newer driver is no cure.
  const next = drivers.find((each) => compareVersionTexts(each, version) > 0) ?? version;
  const isFloor = compareVersionTexts(version, nvidia.driverText ?? "") > 0 && works(next);
  const branch = driverBranch(parseDriverVersion(version) ?? { text: version, parts: [] });
  const text = isFloor
    ? `update the NVIDIA driver: ${nvidia.driverText} → >= ${version}`
    : `install the driver's branch ${branch}: ${nvidia.driverText} → ${version}`;
  return [otherDriver(text, version, isFloor)];
}

/** The drivers at which some rule changes its answer: newer ones ascending, then older ones descending. */
function candidates(cudas: readonly Omit<CudaRequirement, "or">[], nvidia: NvidiaView): readonly string[] {
  const computes = nvidia.gpus.flatMap(({ compute }) => (compute === null ? [] : [compute]));
  const versions = [
    ...cudas.flatMap((cuda) => [driverThresholds(cuda), requireThresholds(cuda)]),
    ...computes.map((compute) => presenceThresholds(compute)),
  ].flatMap(({ drivers }) => drivers);
  const last = computes.flatMap((compute) => findArchitecture(compute)?.lastDriverBranch ?? []);
  const all = [...new Set([...versions, ...last.map(String)])]
    .filter((version) => parseDriverVersion(version) !== null)
    .sort(compareVersionTexts);
  const own = nvidia.driverText ?? "";
  const newer = all.filter((version) => compareVersionTexts(version, own) > 0);
  return [...newer, ...all.filter((version) => compareVersionTexts(version, own) < 0).reverse()];
}

function underDriver(nvidia: NvidiaView, version: string): NvidiaView {
  const cuda = cudaOfDriver(version);
  const driver = parseDriverVersion(version);
  return {
    ...nvidia,
    driver,
    driverText: version,
    cuda: cuda === null ? null : parseCudaVersion(cuda),
    gpus: nvidia.gpus.map((gpu) => ({
      ...gpu,
      brand: driver === null || gpu.brandUnder === undefined ? gpu.brand : gpu.brandUnder(driver),
    })),
  };
}
