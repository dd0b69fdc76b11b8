/** Suggests the cell that would serve a host which finds none. */

import { formatComputeCapability } from "../hardware/compute-capability.ts";
import { marchPlatforms } from "../hardware/march-platforms.ts";
import { gpuVendors } from "../hardware/gpu-vendors.ts";
import { isAdopted } from "../lock/adopted-lock.ts";
import type { Lock } from "../lock/lock.ts";
import { answerOfHost, type BySideOfHost, type HostView } from "./host-view.ts";
import { vendorsIn } from "./unasked.ts";
import { axisList } from "./rules/shared-cures.ts";
import { newestToolkit } from "./rules/nvidia/newest-toolkit.ts";
import { checkNvidiaPresence } from "./rules/nvidia/nvidia-presence.ts";

/**
 * `add a cell cuda=12.8 compute=9.0 march=x86-64-v4`, or, for a lock of images that others built, what to adopt. null if the facts are not
 * enough, or no image could fit this host as it is. For a card of a vendor that the fleet does not serve, that vendor's cell. The toolkit is
 * the newest that compiles for every visible GPU and that the driver serves natively.
 */
export function suggestCell(host: HostView, lock: Pick<Lock, "images">): string | null {
  const march = host.cpu.level;
  if (march === null || !marchPlatforms.includes(host.platform)) return null;
  const images = Object.values(lock.images);
  const axis = images.some(({ axes }) => axes.accel !== undefined) ? "accel" : "cuda";
  const fleet = { axis, march, adopts: isAdopted(lock) } as const;
  // The GPU of a processor is no reason to build for it, a card is.
  const asked = axis === "accel" ? gpuVendors : vendorsIn(lock);
  for (const vendor of gpuVendors) {
    if (!asked.includes(vendor) && host[vendor]?.gpus.some(({ integrated }) => integrated === false) !== true)
      continue;
    if (host.unknownGpuFacts[vendor].length > 0) return null;
    const side = host[vendor];
    if (side?.hasDriver === true && side.gpus.length > 0)
      return answerOfHost(suggestions, vendor, host, host, fleet);
  }
  return fleet.adopts
    ? `adopt an image without GPU code, for CPUs of ${march} or less`
    : `add a cell ${axis}=none march=${march}`;
}

interface SuggestedFleet {
  readonly axis: "accel" | "cuda";
  readonly march: string;
  /** Others built its images. */
  readonly adopts: boolean;
}

const suggestions: BySideOfHost<string | null, [host: HostView, fleet: SuggestedFleet]> = {
  nvidia: (nvidia, host, { axis, march, adopts }) => {
    if (!checkNvidiaPresence(host).ok) return null;
    const computes = nvidia.gpus.map(({ compute }) => compute);
    const known = computes.filter((compute) => compute !== null);
    const toolkit = newestToolkit(nvidia);
    if (known.length < computes.length || toolkit === null) return null;
    const values = [...new Set(known.map(formatComputeCapability))].sort();
    if (adopts)
      return `adopt an image with code for compute capability ${values.join(" and ")}, of CUDA ${toolkit} at most, for CPUs of ${march} or less`;
    return `add a cell ${axis === "accel" ? `accel=cuda-${toolkit}` : `cuda=${toolkit}`} compute=${axisList(values)} march=${march}`;
  },
  // The tables do not say which releases of ROCm compile for a target.
  amd: ({ gpus }, _host, { axis, march, adopts }) => {
    const targets = [...new Set(gpus.flatMap(({ target }) => target ?? []))].sort();
    return adopts
      ? `adopt an image with code for ${targets.join(" and ")}, for CPUs of ${march} or less`
      : `add a cell accel=rocm-VERSION compute=${axisList(targets)} march=${march}${axis === "accel" ? "" : " (the axis accel takes the place of cuda)"}`;
  },
};
