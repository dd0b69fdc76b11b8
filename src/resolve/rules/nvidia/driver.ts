/** Rule: the host's kernel driver, or a driver library inside the image, serves the image's CUDA toolkit. */

import { cudaOfDriver, driverFloor, findToolkit } from "../../../hardware/cuda-toolkits.ts";
import { cudaOfPtx, parseCudaCode } from "../../../hardware/ptx-versions.ts";
import { findCompatPackage } from "../../../hardware/forward-compat.ts";
import {
  type CudaVersion,
  compareDriverVersions,
  compareMinor,
  driverBranch,
  minorOf,
  parseCudaVersion,
  parseDriverVersion,
} from "../../../hardware/driver-version.ts";
import type { CudaRequirement, DriverRequirement } from "../../../lock/requirement.ts";
import type { NvidiaView } from "../../nvidia-view.ts";
import { byHand, misfit } from "../../misfit.ts";
import type { DriverService, Misfit } from "../../verdict.ts";
import { checkCompatPackage } from "./compat-package.ts";
import { otherDriver, updateDriver, updateJetPack } from "./driver-cures.ts";
import type { RuleThresholds } from "../rule.ts";

type Mode<M extends DriverRequirement["mode"]> = Extract<DriverRequirement, { mode: M }>;

export function checkDriver(requirement: CudaRequirement, nvidia: NvidiaView): DriverService | Misfit {
  const { driver } = requirement;
  const toolkit = parseCudaVersion(requirement.toolkit);
  if (toolkit === null) {
    return misfit(
      "DRIVER_TOO_OLD",
      `its CUDA toolkit "${requirement.toolkit}" is no version, so no driver can be compared with it`,
      "correct requires.cuda.toolkit in the lock",
    );
  }
  switch (driver.mode) {
    case "host": {
      const service = checkHostDriver(driver.minimum, toolkit, nvidia);
      return (service.ok ? checkL4t(driver, nvidia) : null) ?? service;
    }
    case "bundled":
      return checkBundledDriver(driver, toolkit, nvidia);
    case "compat":
      return checkCompatPackage(
        driver,
        toolkit,
        nvidia,
        checkHostDriver(floorOf(toolkit) ?? driver.package, toolkit, nvidia),
      );
  }
}

/** The versions that {@link checkDriver} compares: its answer can change at each. */
export function driverThresholds({ toolkit, code, driver }: CudaRequirement): RuleThresholds {
  const known = findToolkit(toolkit);
  const ptx = code.flatMap((text) => cudaOfPtx(parseCudaCode(text)?.isa ?? null, toolkit) ?? []);
  const compiled = [...new Set(ptx)].filter((cuda) => cuda !== toolkit);
  const own = [
    ...(known === null ? [] : [known.minimumDriver, driverFloor(known)?.minimum]),
    ...compiled.map((cuda) => findToolkit(cuda)?.minimumDriver),
  ];
  const drivers = [...own.filter((version) => version != null), ...comparedDrivers(driver)];
  const offered = drivers.map(cudaOfDriver).filter((cuda) => cuda !== null);
  const cudas = [toolkit, ...compiled, ...(driver.mode === "compat" ? [driver.cuda] : []), ...offered];
  // Toolkits differ from drivers in major and minor alone, see compareMinor.
  return { drivers, cudas: cudas.map(minorOf), after: driver.mode !== "host" };
}

function comparedDrivers(driver: DriverRequirement): readonly string[] {
  switch (driver.mode) {
    case "host":
      return [driver.minimum, ...(driver.l4t === undefined ? [] : [`${jetPack6}`, `${jetPack6 + 1}`])];
    case "bundled":
      return [driver.version];
    case "compat": {
      const listed = driver.listed ?? findCompatPackage(driver.cuda)?.enforced ?? [];
      const own = String(driver.package.split(".")[0]);
      const branches = [own, ...driver.branches, ...listed].filter((each) => /^\d{1,4}$/.test(each));
      return [driver.package, ...branches.flatMap((branch) => [branch, String(Number(branch) + 1)])];
    }
  }
}

/** There is no maximum: a newer driver runs every older toolkit (CUDA Compatibility, "Why CUDA Compatibility"). */
function checkHostDriver(minimum: string, toolkit: CudaVersion, nvidia: NvidiaView): DriverService | Misfit {
  const needed = parseDriverVersion(minimum);
  const { driver, scale } = nvidia;
  if (needed === null || driver === null) return tooOld(minimum, nvidia);
  if (scale === "linux") {
    if (compareDriverVersions(driver, needed) < 0) return tooOld(minimum, nvidia);
  } else {
    const neededCuda = parseCudaVersion(cudaOfDriver(minimum) ?? "");
    if (nvidia.cuda === null || neededCuda === null || compareMinor(nvidia.cuda, neededCuda) < 0) {
      return tooOldByCuda(minimum, neededCuda, nvidia);
    }
  }
  return byHost(toolkit, nvidia);
}

/** The driver branch of JetPack 6. */
const jetPack6 = 540;

/**
 * JetPack 6, whose drivers are of branch 540, is L4T 36 and runs images of L4T 36 alone: CUDA does not start in one of L4T 35. JetPack 7 is said
 * to run images of every L4T, and older drivers have no version. Sources: jetson-containers, `l4t_version_compatible`, and its issue 725.
 */
function checkL4t({ l4t }: Mode<"host">, { driver, driverText, scale }: NvidiaView): Misfit | null {
  const isJetPack6 = scale === "l4t" && driver !== null && driverBranch(driver) === jetPack6;
  if (!isJetPack6 || l4t === undefined || l4t === "36") return null;
  return misfit(
    "DRIVER_NOT_EXACT",
    `is built on L4T ${l4t}, this host's driver ${driverText} is that of L4T 36`,
    "take an image that is built on L4T 36",
  );
}

function byHost(toolkit: CudaVersion, nvidia: NvidiaView): DriverService {
  const understands = (wanted: string) => reaches(wanted, nvidia);
  return { ok: true, tier: understands(toolkit.text) ? "native" : "minor", understands, cuda: nvidia.cuda };
}

/** The user-space driver in the image works with one kernel module alone: that of its own version. */
function checkBundledDriver(
  { version }: Mode<"bundled">,
  toolkit: CudaVersion,
  nvidia: NvidiaView,
): DriverService | Misfit {
  const bundled = parseDriverVersion(version);
  const { driver, driverText, scale } = nvidia;
  if (scale === "wsl") {
    return misfit(
      "DRIVER_NOT_EXACT",
      `bundles the driver ${version} and needs exactly that kernel module, WSL has none (its driver is ${driverText})`,
      [
        byHand(
          "add a cell that takes the host's driver (driver mode host)",
          "adopt an image that bundles no driver",
        ),
      ],
    );
  }
  if (bundled === null || driver === null || compareDriverVersions(bundled, driver) !== 0) {
    return misfit(
      "DRIVER_NOT_EXACT",
      `bundles the driver ${version} and needs exactly that kernel module, this host has ${driverText}`,
      [
        ...(scale === "l4t" ? [] : [otherDriver(`install that driver: ${driverText} → ${version}`, version)]),
        byHand(`add a cell that bundles ${driverText}`, `adopt an image that bundles ${driverText}, or none`),
      ],
    );
  }
  const floor = parseDriverVersion(floorOf(toolkit) ?? "");
  if (floor !== null && compareDriverVersions(bundled, floor) < 0) {
    return misfit(
      "DRIVER_TOO_OLD",
      `CUDA ${toolkit.text} needs NVIDIA driver >= ${floor.text}, the image bundles ${version}`,
      `rebuild the image with a driver that serves its toolkit: ${version} → >= ${floor.text}`,
    );
  }
  return byHost(toolkit, nvidia);
}

/** The driver knows all of a toolkit. If its CUDA version is unknown, the toolkit's own minimum driver proves it. */
function reaches(toolkit: string, { cuda, driver, scale }: NvidiaView): boolean {
  const wanted = parseCudaVersion(toolkit);
  if (cuda !== null) return wanted !== null && compareMinor(cuda, wanted) >= 0;
  const own = parseDriverVersion(findToolkit(toolkit)?.minimumDriver ?? "");
  return scale === "linux" && driver !== null && own !== null && compareDriverVersions(driver, own) >= 0;
}

function floorOf(toolkit: CudaVersion): string | null {
  const found = findToolkit(toolkit.text);
  return found === null ? null : (driverFloor(found)?.minimum ?? null);
}

function tooOld(minimum: string, nvidia: NvidiaView): Misfit {
  return misfit(
    "DRIVER_TOO_OLD",
    `needs NVIDIA driver >= ${minimum}, this host has ${nvidia.driverText}`,
    updateDriver(minimum, nvidia),
    branchesBetween(minimum, nvidia),
  );
}

function branchesBetween(minimum: string, { driver }: NvidiaView): number | undefined {
  const needed = parseDriverVersion(minimum);
  return needed === null || driver === null
    ? undefined
    : Math.max(1, driverBranch(needed) - driverBranch(driver));
}

function tooOldByCuda(
  minimum: string,
  needed: CudaVersion | null,
  { driverText, cuda, scale }: NvidiaView,
): Misfit {
  const kind = scale === "wsl" ? "WSL driver" : "Jetson driver";
  const actual = cuda === null ? "an unknown CUDA version" : `CUDA ${cuda.text}`;
  const wanted = needed === null ? `driver >= ${minimum}` : `CUDA >= ${needed.text}`;
  return misfit(
    "DRIVER_TOO_OLD",
    `needs a driver that offers ${wanted} (Linux driver ${minimum}), this host's ${kind} ${driverText} offers ${actual}`,
    scale === "wsl" ? `update the ${kind}: ${actual} → ${wanted}` : updateJetPack({ cuda }, wanted),
  );
}
