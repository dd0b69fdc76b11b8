/** The cures of a reason against a subject of no fleet: another build of the same, where a fleet has another image. */

import type { HostFacts } from "../facts/facts.ts";
import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import { byHand, fixOf } from "../resolve/misfit.ts";
import { stateMarch } from "../resolve/rules/cpu-instructions.ts";
import type { Misfit } from "../resolve/verdict.ts";

/** The builds of a package for a vendor's GPUs, as their projects call them. */
const builds: Readonly<Record<GpuVendor, string>> = { nvidia: "its CUDA build", amd: "its ROCm build" };

/** @param host its GPUs of another vendor need another build */
export function fixOfBuild({ code, cures }: Misfit, host: Partial<Pick<HostFacts, GpuVendor>> = {}): string {
  const own = cures.filter(({ text }) => text !== stateMarch.text);
  const lacks = { NO_GPU: "nvidia", NO_AMD_GPU: "amd" }[code as string];
  const others =
    lacks === undefined ? [] : gpuVendors.filter((vendor) => vendor !== lacks && host[vendor]?.gpus.length);
  return fixOf([
    ...others.map((vendor) => byHand(`take ${builds[vendor]}`)),
    ...own.map(({ text, adopted = text, ...cure }) => ({
      ...cure,
      text: adopted.replaceAll("adopt an image", "take a build"),
    })),
  ]);
}
