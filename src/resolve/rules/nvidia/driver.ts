/** Rule: the host's kernel driver, or a driver library inside the image, serves the image's CUDA toolkit. */

import {
  cudaOfDriver,
  driverFloor,
  findToolkit,
  firstBranchOffering,
} from "../../../hardware/cuda-toolkits.ts";
import { cudaOfPtx, parseCudaCode } from "../../../hardware/ptx-versions.ts";
import { findCompatPackage } from "../../../hardware/forward-compat.ts";
import {
  type CudaVersion,
  compareDriverVersions,
  compareMinor,
  driverBranch,
  gapBetween,
  minorOf,
  parseCudaVersion,
  parseDriverVersion,
} from "../../../hardware/driver-version.ts";
import type { CudaRequirement, DriverRequirement } from "../../../lock/requirement.ts";
import type { NvidiaView } from "../../nvidia-view.ts";
import { byHand, misfit } from "../../misfit.ts";
import type { DriverService, Misfit } from "../../verdict.ts";
import { checkCompatPackage } from "./compat-package.ts";
import { jetPack6Branch, jetPack7Branch, otherDriver, updateDriver, updateJetPack } from "./driver-cures.ts";
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
      return (service.ok ? checkJetPack(driver, nvidia) : null) ?? service;
    }
    case "bundled":
      return checkBundledDriver(driver, toolkit, nvidia);
    case "compat":
      return (
        checkJetPack(driver, nvidia) ??
        checkCompatPackage(
          driver,
          toolkit,
          nvidia,
          checkHostDriver(floorOf(toolkit) ?? driver.package, toolkit, nvidia),
        )
      );
  }
}

/** The versions that {@link checkDriver} compares: its answer can change at each. */
export function driverThresholds({ toolkit, code, driver }: CudaRequirement): RuleThresholds {
  const known = findToolkit(toolkit);
  const ptx = code.flatMap((text) => cudaOfPtx(parseCudaCode(text)?.isa ?? null, toolkit) ?? []);
  const compiled = [...new Set(ptx)].filter((cuda) => cuda !== toolkit);
  const own = [
    ...(known === null ? [] : [driverFloor(known)?.minimum]),
    ...[toolkit, ...compiled].map(firstOffering),
  ];
  const dropped = driver.mode === "bundled" || driver.links === undefined ? [] : [`${jetPack7Branch}`];
  const drivers = [...own.filter((version) => version != null), ...comparedDrivers(driver), ...dropped];
  const offered = drivers.map(cudaOfDriver).filter((cuda) => cuda !== null);
  const cudas = [toolkit, ...compiled, ...(driver.mode === "compat" ? [driver.cuda] : []), ...offered];
  // Toolkits differ from drivers in major and minor alone, see compareMinor.
  return { drivers, cudas: cudas.map(minorOf), after: driver.mode !== "host" };
}

function comparedDrivers(driver: DriverRequirement): readonly string[] {
  switch (driver.mode) {
    case "host":
      return [
        driver.minimum,
        ...(driver.l4t === undefined ? [] : [`${jetPack6Branch}`, `${jetPack6Branch + 1}`]),
      ];
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
  const { driver, driverScale } = nvidia;
  if (needed === null || driver === null) return tooOld(minimum, nvidia);
  if (driverScale === "linux") {
    if (compareDriverVersions(driver, needed) < 0) return tooOld(minimum, nvidia);
  } else {
    const neededCuda = parseCudaVersion(cudaOfDriver(minimum) ?? "");
    if (nvidia.cuda === null || neededCuda === null || compareMinor(nvidia.cuda, neededCuda) < 0) {
      return tooOldByCuda(minimum, neededCuda, nvidia);
    }
  }
  return byHost(toolkit, nvidia);
}

/**
 * JetPack 6 is L4T 36 and runs images of L4T 36 alone: CUDA does not start in one of L4T 35. JetPack 7 is said to run images of every L4T, but
 * not what is linked with a library that it has dropped. Older drivers have no version. Sources: jetson-containers, `l4t_version_compatible`,
 * issues 725 and 1420; wyoming-whisper-trt, issue 1038.
 */
function checkJetPack(
  needs: Mode<"host" | "compat">,
  { driver, driverText, driverScale }: NvidiaView,
): Misfit | null {
  if (driverScale !== "l4t" || driver === null) return null;
  const branch = driverBranch(driver);
  if (branch === jetPack6Branch && needs.mode === "host" && (needs.l4t ?? "36") !== "36")
    return misfit(
      "DRIVER_NOT_EXACT",
      `is built on L4T ${needs.l4t}, this host's driver ${driverText} is that of L4T 36`,
      "take an image that is built on L4T 36",
    );
  const [link] = branch < jetPack7Branch ? [] : Object.entries(needs.links ?? {});
  if (link === undefined) return null;
  const [library, file] = link;
  return misfit(
    "DRIVER_NOT_EXACT",
    `${file} is linked with ${library}, which the driver of JetPack 7 does not have, and this host has ${driverText}`,
    `take an image for JetPack 7 or for servers, whose TensorRT needs no ${library}, or an image that has the library`,
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
  const { driver, driverText, driverScale } = nvidia;
  if (driverScale === "wsl") {
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
        ...(driverScale === "l4t"
          ? []
          : [otherDriver(`install that driver: ${driverText} → ${version}`, version)]),
        byHand(`add a cell that bundles ${driverText}`, `adopt an image that bundles ${driverText}, or none`),
      ],
      bundled === null || driver === null ? undefined : gapBetween(bundled, driver),
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

/** The toolkit's own minimum driver, or else the first branch that offers the CUDA version. */
function firstOffering(toolkit: string): string | null {
  return findToolkit(toolkit)?.minimumDriver ?? firstBranchOffering(toolkit);
}

/** The driver knows all of a toolkit. If the CUDA version is unknown, as of a branch without a row, an older driver proves it. */
function reaches(toolkit: string, { cuda, driver, driverScale }: NvidiaView): boolean {
  const wanted = parseCudaVersion(toolkit);
  if (cuda !== null) return wanted !== null && compareMinor(cuda, wanted) >= 0;
  const own = parseDriverVersion(firstOffering(toolkit) ?? "");
  return (
    driverScale === "linux" && driver !== null && own !== null && compareDriverVersions(driver, own) >= 0
  );
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
  { driverText, cuda, driverScale }: NvidiaView,
): Misfit {
  const kind = driverScale === "wsl" ? "WSL driver" : "Jetson driver";
  const actual = cuda === null ? "an unknown CUDA version" : `CUDA ${cuda.text}`;
  const wanted = needed === null ? `as much as Linux driver ${minimum}` : `CUDA >= ${needed.text}`;
  const linux = needed === null ? "" : ` (Linux driver ${minimum})`;
  return misfit(
    "DRIVER_TOO_OLD",
    `needs a driver that offers ${wanted}${linux}, this host's ${kind} ${driverText} offers ${actual}`,
    driverScale === "wsl" ? `update the ${kind}: ${actual} → ${wanted}` : updateJetPack({ cuda }, wanted),
  );
}
