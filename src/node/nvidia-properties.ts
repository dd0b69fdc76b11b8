/** The properties of variant wheels that NVIDIA's provider answers (wheelnext/nvidia-variant-provider, `plugin.py`). */

import type { HostFacts } from "../facts/facts.ts";
import { parseComputeCapability } from "../hardware/compute-capability.ts";
import { compareVersionTexts } from "../hardware/driver-version.ts";

export interface VariantProperty {
  /** True if an installer takes the value on the host; null where the value or the host's fact is unknown. */
  readonly takes: (value: string, host: HostFacts) => boolean | null;
  /** What the host has in its place. */
  readonly has: (host: HostFacts) => string;
}

const cudaVersion = /^\d{1,2}(?:\.\d{1,2})?$/;

/** @param isTaken gets -1, 0 or 1 for a value that is less than, equal to, or more than the driver's CUDA version */
function cudaBound(isTaken: (order: number) => boolean): VariantProperty {
  return {
    takes(value, { nvidia }) {
      if (nvidia === undefined || nvidia?.unknown?.includes("driver")) return null;
      if (nvidia === null || nvidia.driver === null) return false;
      return nvidia.cuda === null || !cudaVersion.test(value)
        ? null
        : isTaken(compareVersionTexts(value, nvidia.cuda));
    },
    has: ({ nvidia }) => (nvidia?.driver == null ? "no NVIDIA driver" : `a driver of CUDA ${nvidia.cuda}`),
  };
}

export const nvidiaProperties: Readonly<Record<string, VariantProperty>> = {
  cuda_version_lower_bound: cudaBound((order) => order <= 0),
  cuda_version_upper_bound: cudaBound((order) => order > 0),
  // The provider asks the best GPU alone: its major with any minor up to its own, or PTX of its major's first.
  sm_arch: {
    takes(value, { nvidia }) {
      const [, major, minor, kind] = /^(\d{1,2})(\d)_(real|virtual)$/.exec(value) ?? [];
      if (nvidia === undefined || (nvidia?.unknown ?? []).length > 0) return null;
      if (nvidia === null || nvidia.driver === null) return false;
      if (major === undefined) return null;
      const cards = nvidia.gpus.map(({ compute }) => parseComputeCapability(compute ?? ""));
      if (cards.includes(null)) return null;
      const [best] = cards
        .flatMap((card) => card ?? [])
        .sort((a, b) => b.major - a.major || b.minor - a.minor);
      if (best === undefined || best.major < 5) return false;
      const isMajor = best.major === Number(major);
      return isMajor && (kind === "real" ? Number(minor) <= best.minor : minor === "0");
    },
    has: ({ nvidia }) =>
      `compute capability ${nvidia?.gpus.map(({ compute }) => compute ?? "unknown").join(", ") || "of no GPU"}`,
  },
};
