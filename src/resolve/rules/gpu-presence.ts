/** The refusals of an image that needs a GPU, on a host without a usable one. */

import type { HostProblem } from "../../facts/facts.ts";
import { type GpuVendor, vendorNames } from "../../hardware/gpu-vendors.ts";
import { vendorOfProblem } from "../host-view.ts";
import { byHand, misfit } from "../misfit.ts";
import type { Misfit, ReasonCode } from "../verdict.ts";
import { cpuCell } from "./shared-cures.ts";

const words: Readonly<Record<GpuVendor, { readonly code: ReasonCode; readonly visible: string }>> = {
  nvidia: { code: "NO_GPU", visible: "NVIDIA_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES" },
  amd: { code: "NO_AMD_GPU", visible: "ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES" },
};

export function noGpu(vendor: GpuVendor, labelled: boolean): Misfit {
  const name = vendorNames[vendor];
  return misfit(
    words[vendor].code,
    labelled
      ? `needs an ${name} GPU, no label of this node names one`
      : `needs an ${name} GPU, this host has neither an ${name} device nor a driver`,
    [byHand(`run it on a host with an ${name} GPU`), cpuCell("cuda")],
  );
}

export function noneVisible(vendor: GpuVendor, driver: string, problems: readonly HostProblem[]): Misfit {
  const { code, visible } = words[vendor];
  const found = misfit(
    code,
    `needs an ${vendorNames[vendor]} GPU, this host has ${driver} and no visible GPU`,
    [byHand(`make a GPU visible (${visible}, --gpus)`), cpuCell("cuda")],
  );
  return because(found, vendor, problems);
}

/** If the probe has seen the cause, its message and cure say more than the rule can. */
export function because(found: Misfit, vendor: GpuVendor, problems: readonly HostProblem[]): Misfit {
  const cause = causeOf(vendor, problems);
  return cause === undefined
    ? found
    : misfit(found.code, `${found.message}: ${cause.message}`, cause.fix ?? found.cures);
}

/** The problem after which no GPU of the vendor is usable. */
export function causeOf(vendor: GpuVendor, problems: readonly HostProblem[]): HostProblem | undefined {
  return problems.find((each) => Object.hasOwn(causes, each.code) && vendorOfProblem(each) === vendor);
}

const causes = {
  HOST_AMD_GPU_SKIPPED: true,
  HOST_AMD_GPUS_HIDDEN: true,
  HOST_AMD_NO_DEVICES: true,
  HOST_AMD_NO_DRIVER: true,
  HOST_AMD_NO_PERMISSION: true,
  HOST_AMD_VISIBLE_DEVICES_UNCLEAR: true,
  HOST_CONTAINER_WITHOUT_DEVICES: true,
  HOST_GPU_TAKEN: true,
  HOST_GPUS_HIDDEN: true,
  HOST_GPU_UNSUPPORTED_BY_DRIVER: true,
  HOST_NO_DEVICES: true,
  HOST_NOUVEAU: true,
  HOST_NO_DRIVER: true,
  HOST_NO_PERMISSION: true,
  HOST_NVML_FAILED: true,
  HOST_SMI_FAILED: true,
  HOST_SMI_TIMEOUT: true,
  HOST_VISIBLE_DEVICES_UNCLEAR: true,
} as const satisfies Partial<Record<HostProblem["code"], true>>;
