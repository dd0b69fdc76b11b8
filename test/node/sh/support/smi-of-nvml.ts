/** The output of nvidia-smi for these answers of NVML: the program asks nothing else. */

import {
  type NvmlAnswer,
  nvmlCodes,
  type NvmlDevice,
  type NvmlReading,
} from "../../../../src/host/nvidia/nvml-reading.ts";
import type { SmiAnswers } from "./machine.ts";

export function smiOfNvml(nvml: NvmlReading): SmiAnswers {
  if (nvml.init !== nvmlCodes.success)
    return { always: { stdout: failure(nvml.init), status: nvml.init % 256 } };
  const value = <T>(answer: NvmlAnswer<T>) => ("value" in answer ? answer.value : null);
  const lost = nvml.devices.find(
    ({ handle }) => handle !== nvmlCodes.success && handle !== nvmlCodes.noPermission,
  );
  if (lost !== undefined) {
    const bus = value(lost.pci)?.bus ?? "00000000:00:00.0";
    const why =
      lost.handle === nvmlCodes.gpuIsLost
        ? "GPU is lost.  Reboot the system to recover this GPU"
        : "Unknown Error";
    return {
      always: { stdout: `Unable to determine the device handle for GPU ${bus}: ${why}\n`, status: 15 },
    };
  }
  const devices = nvml.devices.filter(({ handle }) => handle === nvmlCodes.success);
  if (devices.length === 0) return { always: { stdout: "No devices were found\n", status: 6 } };
  const column = (cell: (device: (typeof devices)[number], index: number) => string) => devices.map(cell);
  const show = (answer: NvmlAnswer<unknown>, text: () => string) =>
    "value" in answer
      ? text()
      : answer.code === nvmlCodes.notSupported
        ? "[N/A]"
        : answer.code === nvmlCodes.gpuIsLost
          ? "[GPU is lost]"
          : "[Unknown Error]";
  const driver = value(nvml.driverVersion) ?? "[N/A]";
  const cuda = value(nvml.cudaVersion);
  const build = (value(nvml.nvmlVersion) ?? "").replace(/^\d{1,2}\.(?=\d{3})/, "");
  return {
    fields: {
      index: column((_, index) => String(index)),
      uuid: column(({ uuid }) => show(uuid, () => String(value(uuid)))),
      name: column(({ name }) => show(name, () => String(value(name)))),
      driver_version: column(() => driver),
      "pci.bus_id": column(({ pci }) => show(pci, () => value(pci)?.bus ?? "")),
      "pci.device_id": column(({ pci }) =>
        show(pci, () => `0x${((value(pci)?.id ?? 0) >>> 0).toString(16).toUpperCase().padStart(8, "0")}`),
      ),
      "memory.total": column(({ memory }) => show(memory, () => mebibytes(value(memory)?.totalBytes))),
      "memory.used": column(({ memory }) => show(memory, () => mebibytes(value(memory)?.usedBytes))),
      "mig.mode.current": column(({ mig }) => (value(mig) === null ? "Disabled" : "Enabled")),
      compute_cap: column(({ compute }) => show(compute, () => (value(compute) ?? []).join("."))),
      "fabric.state": column(({ fabric }) => fabricState(fabric)),
      "fabric.status": column(({ fabric }) => fabricStatus(fabric)),
      compute_mode: column(
        ({ computeMode }) =>
          ["Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process"][told(computeMode) ?? -1] ??
          "[N/A]",
      ),
      gpu_recovery_action: column(({ recovery }) => {
        const action = told(recovery);
        return action === null
          ? "[N/A]"
          : (["None", "Reset", "Reboot", "Drain P2P", "Drain and Reset"][action] ?? "Bus Reset");
      }),
      "remapped_rows.failure": column(({ remapFailed }) => {
        const failed = told(remapFailed);
        return failed === null ? "[N/A]" : failed ? "Yes" : "No";
      }),
    },
    table: `| NVIDIA-SMI ${build}             Driver Version: ${driver}     CUDA Version: ${cuda === null ? "N/A" : `${Math.floor(cuda / 1000)}.${Math.floor((cuda % 1000) / 10)}`}     |\n`,
    list: devices
      .flatMap(({ uuid, name, mig }, index) => [
        `GPU ${index}: ${value(name)} (UUID: ${value(uuid)})`,
        ...(value(mig) ?? []).map(
          (each, place) => `  MIG ${each.name.split(" ").at(-1)}     Device  ${place}: (UUID: ${each.uuid})`,
        ),
      ])
      .map((line) => `${line}\n`)
      .join(""),
  };
}

function told<T>(answer: NvmlAnswer<T> | undefined): T | null {
  return answer !== undefined && "value" in answer ? answer.value : null;
}

function mebibytes(bytes = 0): string {
  return `${Math.floor(bytes / 2 ** 20)} MiB`;
}

type Fabric = NvmlDevice["fabric"];

function fabricState(fabric: Fabric): string {
  const state = fabric !== undefined && "value" in fabric ? fabric.value.state : 0;
  return ["N/A", "Not Started", "In Progress", "Completed"][state] ?? "N/A";
}

/** Of a registration that is not completed nothing is printed. */
function fabricStatus(fabric: Fabric): string {
  if (fabric === undefined || !("value" in fabric) || fabric.value.state !== 3) return "N/A";
  return fabric.value.status === nvmlCodes.success ? "Success" : "Unknown Error";
}

function failure(init: number): string {
  switch (init) {
    case nvmlCodes.versionMismatch:
      return "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.178\n";
    case nvmlCodes.noPermission:
      return "Failed to initialize NVML: Insufficient Permissions\n";
    case nvmlCodes.driverNotLoaded:
      return "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n";
    case nvmlCodes.gpuIsLost:
      return "Failed to initialize NVML: GPU is lost\n";
    default:
      return "Failed to initialize NVML: Unknown Error\n";
  }
}
