/** Reads what surrounds the NVIDIA driver: kernel module, PCI devices, Tegra, WSL2, container, libraries. */

import { isContainer } from "../container-runtime.ts";
import type { HostProblem } from "../facts.ts";
import { denied, type HostIo } from "../host-io.ts";
import { noPermission } from "../host-problems.ts";
import type { PciGpu } from "../pci.ts";
import { isWsl, type LibraryReading, readDriverLibraries } from "./driver-library.ts";
import { type KernelModuleReading, procVersionPath, readKernelModule } from "./proc-reading.ts";
import { readTegra, type Tegra } from "./tegra.ts";

export interface Surroundings {
  readonly module: KernelModuleReading | null;
  /** True with a loaded module, its control device, or WSL2. */
  readonly driver: boolean;
  /** True with `/dev/nvidiactl`, without which no program reaches the driver. */
  readonly control: boolean;
  readonly pci: readonly PciGpu[];
  readonly tegra: Tegra | null;
  readonly wsl: boolean;
  readonly container: boolean;
  readonly libraries: readonly LibraryReading[];
  readonly problems: readonly HostProblem[];
}

/** null when there is neither an NVIDIA device nor a driver. */
export function readSurroundings(io: HostIo, pci: readonly PciGpu[]): Surroundings | null {
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
    tegra,
    wsl,
    container: isContainer(io),
    libraries: readDriverLibraries(io),
    problems: module === denied ? [noPermission(procVersionPath)] : [],
  };
}
