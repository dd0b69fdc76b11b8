/** The NVIDIA side of host facts in the report of `imgmatch probe`. */

import type { GpuFacts, HostFacts, NvidiaFacts } from "../facts/facts.ts";
import { linkNames } from "../hardware/gpu-vendors.ts";
import { type FactsRow, placeWords, unknown } from "./probe-rows.ts";
import { isLabelled } from "../facts/host-problems.ts";

/** Without such a problem, a driver without a version is a driver of unknown version. */
function driverless(problems: HostFacts["problems"]): boolean {
  const codes: readonly string[] = ["HOST_NO_DRIVER", "HOST_NOUVEAU", "HOST_GPU_TAKEN"];
  return problems.some(({ code }) => codes.includes(code));
}

export function nvidiaLines(
  nvidia: NvidiaFacts | null | undefined,
  problems: HostFacts["problems"],
): readonly FactsRow[] {
  const labelled = isLabelled(problems);
  if (nvidia === undefined) return [["nvidia", unknown]];
  if (nvidia === null) return [["nvidia", labelled ? "none labelled" : "no device and no driver"]];
  const { driver, module, library, cuda, uvm, ready, gpus, unknown: open = [] } = nvidia;
  const details = [
    module === null ? null : `${module} module`,
    cuda === null ? null : `CUDA up to ${cuda}`,
    library === null || library === driver ? null : `library ${library}`,
    uvm === false ? "no /dev/nvidia-uvm" : null,
    ready === undefined ? null : `confidential computing ${ready ? "ready" : "not ready"}`,
  ].filter((part) => part !== null);
  return [
    ["driver", [driver ?? (driverless(problems) ? "none" : unknown), ...details].join(", ")],
    ...(gpus.length > 0
      ? gpus.flatMap(describeGpu)
      : [["gpus", labelled || open.includes("gpus") ? unknown : "none visible"] as const]),
  ];
}

function describeGpu(gpu: GpuFacts): readonly FactsRow[] {
  const details = [
    `compute ${gpu.compute ?? unknown}`,
    gpu.memoryMiB === null ? null : `${gpu.memoryMiB} MiB`,
    gpu.class === "unknown" ? null : gpu.class,
    gpu.use.processes === null ? null : `${gpu.use.processes} processes`,
    gpu.bus,
    ...placeWords(gpu, linkNames.nvidia),
  ].filter((part) => part !== null);
  return [
    [`gpu ${gpu.index}`, `${gpu.name ?? gpu.pci ?? unknown}: ${details.join(", ")}`],
    ...describeStates(gpu).map((state) => ["", state] as const),
    ...(gpu.mig ?? []).map(({ profile, uuid }) => ["", `MIG ${profile} ${uuid}`] as const),
  ];
}

function describeStates({
  fabric,
  computeMode,
  recovery,
  remapFailed,
  licensed,
  mig,
}: GpuFacts): readonly string[] {
  return [
    ...(fabric === undefined || fabric === "none" ? [] : [`NVSwitch fabric ${fabric.replace("-", " ")}`]),
    ...(computeMode === undefined || computeMode === "default" ? [] : [`compute mode ${computeMode}`]),
    ...(recovery === undefined || recovery === "none" ? [] : [`recovery action ${recovery}`]),
    ...(remapFailed === true ? ["a memory row could not be remapped"] : []),
    ...(licensed === false ? ["vGPU without a licence"] : []),
    ...(mig?.length === 0 ? ["MIG without an instance"] : []),
  ];
}
