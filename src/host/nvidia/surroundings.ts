/** Reads what surrounds the NVIDIA driver: kernel module, PCI devices, Tegra, WSL2, container, libraries. */

import { isContainer, isWsl, wslLibraries } from "../container-runtime.ts";
import type { HostProblem } from "../../facts/facts.ts";
import type { SideContext } from "../gpu-side.ts";
import { denied, type HostIo, textOf } from "../host-io.ts";
import { noPermission } from "../../facts/host-problems.ts";
import type { PciGpu } from "../pci.ts";
import { type KernelModuleReading, procVersionPath, readKernelModule } from "./proc-reading.ts";

export interface Surroundings {
  readonly module: KernelModuleReading | null;
  /** True with a loaded module, its control device, or WSL2. */
  readonly driver: boolean;
  /** True with `/dev/nvidiactl`, without which no program reaches the driver. */
  readonly control: boolean;
  readonly pci: readonly PciGpu[];
  /** The links of GPUs are asked for. */
  readonly pairs: boolean;
  readonly tegra: Tegra | null;
  readonly wsl: boolean;
  readonly container: boolean;
  readonly libraries: readonly LibraryReading[];
  readonly problems: readonly HostProblem[];
}

/** null when there is neither an NVIDIA device nor a driver. */
export function readSurroundings(
  io: HostIo,
  { pci, pairs }: Pick<SideContext, "pci" | "pairs">,
): Surroundings | null {
  const module = readKernelModule(io);
  const tegra = io.arch === "arm64" ? readTegra(io) : null;
  const wsl = isWsl(io);
  const control = io.exists("/dev/nvidiactl");
  const driver = module !== null || wsl || control;
  if (!driver && pci.length === 0 && tegra === null) return null;
  return {
    module: module === denied ? null : module,
    driver,
    control,
    pci,
    pairs,
    tegra,
    wsl,
    container: isContainer(io),
    libraries: readDriverLibraries(io),
    problems: module === denied ? [noPermission(procVersionPath)] : [],
  };
}

export interface Tegra {
  /** L4T release, for example `36.4.7`; null when the machine does not say. */
  readonly l4t: string | null;
  readonly chip: TegraChip | null;
}

export interface TegraChip {
  readonly name: string;
  readonly compute: string;
}

/** `nvidia,tegra…` of the device tree → GPU. Source: developer.nvidia.com/cuda-gpus (Jetson), Linux arch/arm64/boot/dts/nvidia. */
export const tegraChips = {
  tegra210: { name: "Tegra X1", compute: "5.3" },
  tegra186: { name: "Tegra X2", compute: "6.2" },
  tegra194: { name: "Xavier", compute: "7.2" },
  tegra234: { name: "Orin", compute: "8.7" },
  tegra264: { name: "Thor", compute: "11.0" },
} as const satisfies Record<string, TegraChip>;

const tegraReleasePath = "/etc/nv_tegra_release";
const deviceTreePath = "/proc/device-tree/compatible";

/** `# R36 (release), REVISION: 4.7, …` → `36.4.7`. */
export function parseTegraRelease(text: string): string | null {
  const match = /^#?\s*R(\d+)\s*\(release\),\s*REVISION:\s*([\d.]+)/.exec(text);
  return match === null ? null : `${match[1]}.${match[2]}`;
}

/** The chip among the NUL-separated names of the device tree's `compatible`. */
export function parseDeviceTree(compatible: string): TegraChip | null {
  const found = Object.entries(tegraChips).find(([chip]) =>
    compatible.split("\0").includes(`nvidia,${chip}`),
  );
  return found?.[1] ?? null;
}

/** A GPU name as the driver prints it on these machines: `Orin (nvgpu)`, `NVIDIA Thor`. */
export function parseTegraName(name: string): TegraChip | null {
  const found = Object.values(tegraChips).find((chip) => new RegExp(`\\b${chip.name}\\b`, "i").test(name));
  return found !== undefined && /\(nvgpu\)|^NVIDIA Thor$|^(?:NVIDIA )?Tegra/i.test(name) ? found : null;
}

/** null when this machine is no Tegra. A DGX Spark (GB10) is none: it has server drivers and its GPU is on PCI. */
export function readTegra(io: HostIo): Tegra | null {
  const release = textOf(io, tegraReleasePath);
  const compatible = textOf(io, deviceTreePath) ?? "";
  const family = textOf(io, "/sys/devices/soc0/family") ?? "";
  const chip = parseDeviceTree(compatible);
  if (release === null && chip === null && !/^tegra/i.test(family)) return null;
  return { l4t: release === null ? null : parseTegraRelease(release), chip };
}

/** Folders of the driver's libraries on different systems. */
export const libraryFolders = [
  "/usr/lib/x86_64-linux-gnu",
  "/usr/lib/aarch64-linux-gnu",
  "/usr/lib/powerpc64le-linux-gnu",
  "/usr/lib64",
  "/usr/lib",
  "/lib/x86_64-linux-gnu",
  "/usr/lib/x86_64-linux-gnu/nvidia/current",
  "/usr/lib/aarch64-linux-gnu/nvidia",
  "/usr/lib64/nvidia",
  "/run/opengl-driver/lib",
  "/usr/local/nvidia/lib64",
  "/home/kubernetes/bin/nvidia/lib64",
] as const;

/** Names of NVML for the loader: the bare name first, then folders that are often missing in its cache. */
export const nvmlLibraries = [
  "libnvidia-ml.so.1",
  `${wslLibraries}/libnvidia-ml.so.1`,
  "/run/opengl-driver/lib/libnvidia-ml.so.1",
  "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
  "/home/kubernetes/bin/nvidia/lib64/libnvidia-ml.so.1",
] as const;

export const cudaLibraries = nvmlLibraries.map((path) => path.replace("libnvidia-ml", "libcuda"));

export interface LibraryReading {
  readonly version: string;
  readonly source: string;
}

/** Every version that `libnvidia-ml.so.1` or `libcuda.so.1` links to, in the order of a loader's search. */
export function readDriverLibraries(io: HostIo): readonly LibraryReading[] {
  return libraryFolders.flatMap((folder) =>
    ["libnvidia-ml.so", "libcuda.so"].flatMap((name) => {
      const target = io.readLink(`${folder}/${name}.1`);
      const version = parseLibraryTarget(target ?? "");
      return version === null ? [] : [{ version, source: `${folder}/${name}.1` }];
    }),
  );
}

/**
 * True if the folders of the driver's libraries show an empty libcuda.so.1 or a link to nothing, or NVML and no libcuda. A loader may know
 * other folders, so the driver has the last word.
 */
export function mayLackLibcuda(io: HostIo): boolean {
  const listed = (name: string) =>
    libraryFolders
      .map((folder) => `${folder}/${name}`)
      .filter((path) => io.exists(path) || io.readLink(path) !== null);
  const found = listed("libcuda.so.1");
  if (found.length === 0) return listed("libnvidia-ml.so.1").length > 0;
  return found.some((path) => !io.exists(path) || io.readText(path, 1) === "");
}

/** `libnvidia-ml.so.570.124.06`, with or without folders before it → `570.124.06`. */
export function parseLibraryTarget(target: string): string | null {
  return /(?:^|\/)lib(?:nvidia-ml|cuda)\.so\.(\d+(?:\.\d+){1,3})$/.exec(target)?.[1] ?? null;
}
