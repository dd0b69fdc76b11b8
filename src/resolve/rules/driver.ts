/** Rule: the host's kernel driver, or a driver library inside the image, serves the image's CUDA toolkit. */

import { cudaOfDriver, driverFloor, findToolkit } from "../../hardware/cuda-toolkits.ts";
import { compatAllowsClass } from "../../hardware/forward-compat.ts";
import {
  type CudaVersion,
  compareDriverVersions,
  compareVersions,
  type DriverVersion,
  driverBranch,
  minorOf,
  parseCudaVersion,
  parseDriverVersion,
} from "../../hardware/driver-version.ts";
import type { CudaRequirement, DriverRequirement } from "../../lock/lock.ts";
import type { NvidiaView } from "../host-view.ts";
import { misfit } from "../misfit.ts";
import { type Cure, type RuleSteps, updateDriver } from "./rule-remedy.ts";
import type { Misfit, Tier } from "../verdict.ts";

/** How the toolkit is served. `cuda` is the version that the program meets, for messages. */
export interface DriverService {
  readonly ok: true;
  readonly tier: Tier;
  /** Whether the driver library understands the PTX of the image's toolkit. */
  readonly ptx: boolean;
  readonly cuda: CudaVersion | null;
}

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
    case "host":
      return checkHostDriver(driver.minimum, toolkit, nvidia);
    case "bundled":
      return checkBundledDriver(driver, toolkit, nvidia);
    case "compat":
      return checkCompatPackage(driver, toolkit, nvidia);
  }
}

/** The versions at which the answer of {@link checkDriver} can change: every one that is compared below. */
export function driverSteps({ toolkit, driver }: CudaRequirement): RuleSteps {
  const known = findToolkit(toolkit);
  const own = known === null ? [] : [known.minimumDriver, driverFloor(known)?.minimum];
  const drivers = [...own.filter((version) => version != null), ...comparedDrivers(driver)];
  const offered = drivers.map(cudaOfDriver).filter((cuda) => cuda !== null);
  const cudas = [toolkit, ...(driver.mode === "compat" ? [driver.cuda] : []), ...offered];
  // Toolkits differ from drivers in major and minor alone, see compareMinor.
  return { drivers, cudas: cudas.map(minorOf), after: driver.mode === "bundled" };
}

function comparedDrivers(driver: DriverRequirement): readonly string[] {
  switch (driver.mode) {
    case "host":
      return [driver.minimum];
    case "bundled":
      return [driver.version];
    case "compat": {
      const branches = driver.branches.filter((branch) => /^\d{1,4}$/.test(branch));
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

function byHost(toolkit: CudaVersion, nvidia: NvidiaView): DriverService {
  const native = reachesToolkit(toolkit, nvidia);
  return { ok: true, tier: native ? "native" : "minor", ptx: native, cuda: nvidia.cuda };
}

/** The user-space driver inside the image speaks to one kernel module only: its own version. */
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
        {
          text: "add a cell that takes the host's driver (driver mode host)",
          remedy: null,
          adopted: "adopt an image that bundles no driver",
        },
      ],
    );
  }
  if (bundled === null || driver === null || compareDriverVersions(bundled, driver) !== 0) {
    return misfit(
      "DRIVER_NOT_EXACT",
      `bundles the driver ${version} and needs exactly that kernel module, this host has ${driverText}`,
      [
        {
          text: `install that driver: ${driverText} → ${version}`,
          remedy: { kind: "driver", version, atLeast: false },
        },
        {
          text: `add a cell that bundles ${driverText}`,
          remedy: null,
          adopted: `adopt an image that bundles ${driverText}, or none`,
        },
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

/**
 * NVIDIA's forward-compatibility package: a newer libcuda on an older kernel driver of a listed branch, not on GeForce.
 * Source: CUDA Compatibility, "Forward Compatibility"; the container toolkit's cuda-compat hook compares the same three.
 */
function checkCompatPackage(
  compat: Mode<"compat">,
  toolkit: CudaVersion,
  nvidia: NvidiaView,
): DriverService | Misfit {
  const { driver } = nvidia;
  const packaged = parseDriverVersion(compat.package);
  const packageCuda = parseCudaVersion(compat.cuda);
  if (driver === null || packaged === null || packageCuda === null) {
    return misfit(
      "COMPAT_NOT_SUPPORTED",
      `its forward-compatibility package ${compat.package} (CUDA ${compat.cuda}) cannot be compared with driver ${nvidia.driverText ?? "unknown"}`,
      "correct requires.cuda.driver in the lock",
    );
  }
  if (isNewEnough(nvidia, packaged, packageCuda)) {
    // The package is ignored, so what remains is an image that takes the host's driver.
    return checkHostDriver(floorOf(toolkit) ?? compat.package, toolkit, nvidia);
  }
  const refused = refuseCompat(compat, toolkit, packageCuda, nvidia, driver);
  if (refused !== null) return refused;
  // "Unlike minor-version compatibility, restrictions on PTX do not apply": the package brings its own PTX compiler.
  return { ok: true, tier: "forward", ptx: compareMinor(packageCuda, toolkit) >= 0, cuda: packageCuda };
}

function refuseCompat(
  compat: Mode<"compat">,
  toolkit: CudaVersion,
  packageCuda: CudaVersion,
  nvidia: NvidiaView,
  driver: DriverVersion,
): Misfit | null {
  const no = (why: string, fix: string | readonly Cure[]) =>
    misfit("COMPAT_NOT_SUPPORTED", `its forward-compatibility package ${compat.package} ${why}`, fix);
  const update = updateDriver(compat.package, nvidia, ", which needs no package");
  if (nvidia.scale === "wsl") {
    return no(
      `works on Linux drivers only, this host is WSL with driver ${driver.text}`,
      `update the Windows driver until it offers CUDA: ${nvidia.cuda?.text ?? "unknown"} → >= ${packageCuda.text}`,
    );
  }
  const branch = String(driverBranch(driver));
  if (!compat.branches.includes(branch)) {
    return no(
      `works on driver branches ${compat.branches.join(", ")}, this host has ${driver.text} (branch ${branch})`,
      update,
    );
  }
  if ((packageCuda.parts[0] ?? 0) < (toolkit.parts[0] ?? 0)) {
    return no(
      `brings CUDA ${packageCuda.text}, which is too old for toolkit ${toolkit.text}`,
      "rebuild the image with the package of its own toolkit",
    );
  }
  const refused = nvidia.gpus.find((gpu) => compatAllowsClass(gpu.class) !== true);
  if (refused === undefined) return null;
  const kind = refused.class === "unknown" ? "of an unknown class" : `a ${refused.class} product`;
  return no(`works on data-center and workstation GPUs, ${refused.label} is ${kind}`, update);
}

function isNewEnough(nvidia: NvidiaView, packaged: DriverVersion, packageCuda: CudaVersion): boolean {
  if (nvidia.cuda !== null && compareMinor(nvidia.cuda, packageCuda) >= 0) return true;
  return (
    nvidia.scale === "linux" && nvidia.driver !== null && compareDriverVersions(nvidia.driver, packaged) >= 0
  );
}

/** Whether the driver knows all of the toolkit. With an unknown CUDA version, the toolkit's own minimum driver proves it. */
function reachesToolkit(toolkit: CudaVersion, { cuda, driver, scale }: NvidiaView): boolean {
  if (cuda !== null) return compareMinor(cuda, toolkit) >= 0;
  const own = parseDriverVersion(findToolkit(toolkit.text)?.minimumDriver ?? "");
  return scale === "linux" && driver !== null && own !== null && compareDriverVersions(driver, own) >= 0;
}

function floorOf(toolkit: CudaVersion): string | null {
  const found = findToolkit(toolkit.text);
  return found === null ? null : (driverFloor(found)?.minimum ?? null);
}

/** Toolkits differ from drivers in major and minor alone: 12.8.1 asks for a driver of CUDA 12.8. */
function compareMinor(driver: CudaVersion, toolkit: CudaVersion): number {
  return compareVersions(driver.parts.slice(0, 2), toolkit.parts.slice(0, 2));
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
    `update the ${kind}: ${actual} → ${wanted}`,
  );
}
