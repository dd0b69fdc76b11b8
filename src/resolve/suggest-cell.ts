/** Suggests the cell that would serve a host which finds none. */

import { formatComputeCapability } from "../hardware/compute-capability.ts";
import { cudaToolkits, driverFloor, toolkitCompiles } from "../hardware/cuda-toolkits.ts";
import { compareVersions, parseVersion } from "../hardware/driver-version.ts";
import { marchPlatforms } from "../hardware/march-platforms.ts";
import { vendorsOf } from "../lock/requirement.ts";
import { isAdopted } from "../lock/adopted-lock.ts";
import type { Lock } from "../lock/lock.ts";
import type { AmdView } from "./amd-view.ts";
import type { HostView } from "./host-view.ts";
import type { NvidiaView } from "./nvidia-view.ts";
import { checkNvidiaPresence } from "./rules/nvidia/nvidia-presence.ts";

/**
 * `add a cell cuda=12.8 compute=9.0 march=x86-64-v4`, or, for a lock of images that others built, what to adopt. null if the facts are not
 * enough, or no image could fit this host as it is. The toolkit is the newest that this driver serves natively and that compiles for every
 * visible GPU.
 */
export function suggestCell(host: HostView, lock: Pick<Lock, "images">): string | null {
  const adopts = isAdopted(lock);
  const march = host.cpu.level;
  if (march === null || host.unknownGpuFacts.nvidia.length > 0 || !marchPlatforms.includes(host.platform))
    return null;
  const { nvidia } = host;
  const images = Object.values(lock.images);
  const axis = images.some(({ axes }) => axes.accel !== undefined) ? "accel" : "cuda";
  if (nvidia === null || nvidia.driver === null || nvidia.gpus.length === 0) {
    const forAmd = axis === "accel" || images.some(({ requires }) => vendorsOf(requires).includes("amd"));
    if (forAmd && host.unknownGpuFacts.amd.length > 0) return null;
    if (forAmd && host.amd?.driven === true && host.amd.gpus.length > 0)
      return suggestForAmd(host.amd, march, adopts);
    return adopts
      ? `adopt an image without GPU code, for CPUs of ${march} or less`
      : `add a cell ${axis}=none march=${march}`;
  }
  if (!checkNvidiaPresence(host).ok) return null;
  const computes = nvidia.gpus.map(({ compute }) => compute);
  const known = computes.filter((compute) => compute !== null);
  const toolkit = newestToolkit(nvidia);
  if (known.length < computes.length || toolkit === null) return null;
  const values = [...new Set(known.map(formatComputeCapability))].sort();
  if (adopts)
    return `adopt an image with code for compute capability ${values.join(" and ")}, of CUDA ${toolkit} at most, for CPUs of ${march} or less`;
  return `add a cell ${axis === "accel" ? `accel=cuda-${toolkit}` : `cuda=${toolkit}`} compute=${oneOrList(values)} march=${march}`;
}

/** The tables do not say which releases of ROCm compile for a target. */
function suggestForAmd({ gpus }: AmdView, march: string, adopts: boolean): string {
  const targets = [...new Set(gpus.flatMap(({ target }) => target ?? []))].sort();
  return adopts
    ? `adopt an image with code for ${targets.join(" and ")}, for CPUs of ${march} or less`
    : `add a cell accel=rocm-VERSION compute=${oneOrList(targets)} march=${march}`;
}

function oneOrList(values: readonly string[]): string {
  return values.length === 1 ? (values[0] ?? "") : `[${values.join(", ")}]`;
}

function newestToolkit({ cuda, driver, scale, gpus }: NvidiaView): string | null {
  if (cuda === null || driver === null) return null;
  const usable = cudaToolkits.filter((toolkit) => {
    const minor = parseVersion(toolkit.minor);
    if (minor === null || compareVersions(minor, cuda.parts.slice(0, 2)) > 0) return false;
    const floor = parseVersion(driverFloor(toolkit)?.minimum ?? "");
    if (scale === "linux" && (floor === null || compareVersions(driver.parts, floor) < 0)) return false;
    return gpus.every(
      ({ compute }) =>
        compute !== null && toolkitCompiles(toolkit, { kind: "sass", compute, suffix: "" }) === true,
    );
  });
  // Oldest first in the table.
  return usable.at(-1)?.minor ?? null;
}
