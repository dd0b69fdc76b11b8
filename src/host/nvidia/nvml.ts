/** Turns NVML's answers into a reading of driver and GPUs. */

import {
  type ComputeMode,
  type FabricState,
  type GpuFacts,
  type HostProblem,
  recoveryActions,
} from "../../facts/facts.ts";
import { gpuLost, gpuUnreadable, noPermission } from "../../facts/host-problems.ts";
import { formatBus, formatPciId } from "../pci.ts";
import { unknownGpu } from "../../facts/no-facts.ts";
import { meaningOf } from "./evidence.ts";
import type { NvidiaReading } from "./nvidia-reading.ts";
import { usableName } from "./nvidia-smi.ts";
import {
  type NvmlDevice,
  type NvmlReading,
  nvmlCode,
  nvmlCodes,
  nvmlMeaning,
  nvmlValue,
} from "./nvml-reading.ts";

/** Reads the answers of an NVML that was initialized (`init` is 0). */
export function interpretNvml(reading: NvmlReading): NvidiaReading {
  const problems: HostProblem[] = [];
  // nvmlDeviceGetCount_v2 counts GPUs too that this user or container was not given (nvml.h): those are not visible.
  const withheld = reading.devices.filter(({ handle }) => handle === nvmlCodes.noPermission).length;
  if (withheld > 0 && withheld === reading.devices.length)
    problems.push(noPermission(`any of ${withheld} GPUs`));
  const gpus = reading.devices.flatMap((device, index) => {
    if (device.handle === nvmlCodes.noPermission) return [];
    const problem = deviceProblem(device, index);
    if (problem !== null) problems.push(problem);
    if (device.handle !== nvmlCodes.success) return [];
    return [{ ...gpuOf(device, index), ...linksOf(device, index, reading.devices) }];
  });
  return {
    source: "nvml",
    driver: version(nvmlValue(reading.driverVersion)),
    library: libraryVersion(nvmlValue(reading.nvmlVersion) ?? ""),
    cuda: formatCuda(nvmlValue(reading.cudaVersion)),
    ...(meaningOf("nvmlSystemGetCudaDriverVersion", nvmlCode(reading.cudaVersion)) === "HOST_NO_LIBCUDA" && {
      lacksCuda: true,
    }),
    gpus: nvmlCode(reading.deviceCount) === nvmlCodes.success ? gpus : null,
    problems,
    ...given("ready", nvmlValue(reading.ready)),
  };
}

/** The fact, if it is known. */
function given<Name extends string, Value>(name: Name, value: Value | null | undefined) {
  return (value == null ? {} : { [name]: value }) as { readonly [N in Name]?: Value };
}

function deviceProblem(device: NvmlDevice, index: number): HostProblem | null {
  const codes =
    device.handle === nvmlCodes.success
      ? [nvmlCode(device.compute), nvmlCode(device.uuid), nvmlCode(device.memory)]
      : [device.handle];
  const bus = nvmlValue(device.pci)?.bus;
  const where = bus === undefined ? `${index}` : `${index} (${formatBus(bus) ?? bus})`;
  if (codes.includes(nvmlCodes.gpuIsLost)) return gpuLost(where);
  const broken = codes.find((code) => code === nvmlCodes.unknown || code === nvmlCodes.resetRequired);
  if (broken !== undefined) return gpuUnreadable(where, nvmlMeaning(broken));
  return device.handle === nvmlCodes.success ? null : gpuUnreadable(where, nvmlMeaning(device.handle));
}

function gpuOf(device: NvmlDevice, index: number): GpuFacts {
  const compute = nvmlValue(device.compute);
  const pci = nvmlValue(device.pci);
  const memory = nvmlValue(device.memory);
  return {
    ...unknownGpu(index),
    uuid: text(nvmlValue(device.uuid)),
    name: usableName(text(nvmlValue(device.name))),
    compute: compute === null ? null : `${compute[0]}.${compute[1]}`,
    pci: pci === null ? null : formatPciId(pci.id),
    bus: pci === null ? null : formatBus(pci.bus),
    memoryMiB: mebibytes(memory?.totalBytes),
    ...migOf(device),
    ...fabricOf(device),
    ...given("computeMode", modeByNumber[nvmlValue(device.computeMode) ?? -1]),
    ...given("recovery", recoveryOf(nvmlValue(device.recovery))),
    ...given("remapFailed", nvmlValue(device.remapFailed)),
    ...given("licensed", nvmlValue(device.licensed)),
    use: {
      processes: nvmlValue(device.processes),
      memoryMiB: mebibytes(memory?.usedBytes),
    },
  };
}

/** The links to GPUs that answer. A status from 1 to 5 says why there is none, 6 is unknown (nvml.h, `nvmlGpuP2PStatus_t`). */
function linksOf(
  { nvlink }: NvmlDevice,
  index: number,
  devices: readonly NvmlDevice[],
): Pick<GpuFacts, "links"> {
  if (nvlink === undefined) return {};
  const statuses = devices.flatMap(({ handle }, peer) => {
    const isPeer = peer !== index && handle === nvmlCodes.success;
    return isPeer ? [{ peer, status: nvmlValue(nvlink[peer]) }] : [];
  });
  if (statuses.some(({ status }) => status === null || status < 0 || status > 5)) return {};
  return { links: statuses.flatMap(({ peer, status }) => (status === 0 ? [peer] : [])) };
}

/** A GPU without MIG, and a library from before MIG, have no such mode. */
function migOf({ mig }: NvmlDevice): Pick<GpuFacts, "mig"> {
  if ("value" in mig)
    return { mig: mig.value?.map(({ uuid, name }) => ({ uuid, profile: migProfile(name) })) ?? null };
  const { notSupported, functionNotFound, absent } = nvmlCodes;
  const without: readonly number[] = [notSupported, functionNotFound, absent];
  return without.includes(mig.code) ? { mig: null } : {};
}

const fabricByState: readonly FabricState[] = ["none", "not-started", "in-progress", "completed"];

function fabricOf({ fabric }: NvmlDevice): Pick<GpuFacts, "fabric"> {
  if (fabric === undefined) return {};
  if ("code" in fabric) return fabric.code === nvmlCodes.notSupported ? { fabric: "none" } : {};
  const state = fabricByState[fabric.value.state];
  const isFailed = state === "completed" && fabric.value.status !== nvmlCodes.success;
  return state === undefined ? {} : { fabric: isFailed ? "failed" : state };
}

/** The exclusive mode for one thread is older than that for one process (nvml.h, `nvmlComputeMode_t`). */
const modeByNumber: readonly ComputeMode[] = ["default", "exclusive", "prohibited", "exclusive"];

function recoveryOf(number: number | null) {
  return number === null ? null : (recoveryActions[number] ?? "other");
}

function mebibytes(bytes: number | undefined): number | null {
  return bytes === undefined ? null : Math.floor(bytes / 1024 / 1024);
}

/** `NVIDIA H100 80GB HBM3 MIG 3g.40gb` → `3g.40gb`. */
function migProfile(name: string): string {
  return /\bMIG (\S+)$/.exec(name)?.[1] ?? name;
}

/** `12.550.54.15` → `550.54.15`: the CUDA major comes before the library's own version; old libraries print only that. */
export function libraryVersion(nvmlVersion: string): string | null {
  const match = /^(?:\d{1,2}\.)?(\d{3,}(?:\.\d+){1,2})$/.exec(nvmlVersion.trim());
  return match?.[1] ?? null;
}

/** 12080 → `12.8` (cuDriverGetVersion: 1000 × major + 10 × minor). */
export function formatCuda(number: number | null): string | null {
  if (number === null || !Number.isInteger(number) || number < 1000) return null;
  return `${Math.floor(number / 1000)}.${Math.floor((number % 1000) / 10)}`;
}

function version(value: string | null): string | null {
  return /^\d+(?:\.\d+){1,3}$/.exec(value ?? "")?.[0] ?? null;
}

function text(value: string | null): string | null {
  return value === null || value === "" || /^\[?N\/A\]?$/i.test(value) ? null : value;
}
