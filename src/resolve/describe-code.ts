/** Writes which GPU runs which code, in words. */

import type { HostFacts } from "../facts/facts.ts";
import { groupBy } from "../io/collections.ts";
import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import { judgedGpus } from "./host-view.ts";
import type { CodeFit } from "./verdict.ts";

/** `GPU 0 runs sm_90`, `GPU 0 and 7 more run sm_90`. Hidden GPUs have numbers too, so the place in the list is not the number. */
export function describeCode(
  code: readonly Pick<CodeFit, "target">[],
  facts: Pick<HostFacts, GpuVendor>,
): string[] {
  const places = groupBy(code.keys(), (place) => code[place]?.target ?? "");
  return [...places].map(([target, [first = 0, ...others]]) => {
    const gpu = gpuAt(first, target, facts);
    return others.length === 0 ? `${gpu} runs ${target}` : `${gpu} and ${others.length} more run ${target}`;
  });
}

/** The GPU that code of a target runs on, by its place among the vendor's GPUs. */
export function gpuAt(place: number, target: string, facts: Pick<HostFacts, GpuVendor>): string {
  const vendor = gpuVendors.find((each) => targetsOf[each].test(target));
  const gpu = vendor === undefined ? undefined : judgedGpus(vendor, facts)[place];
  return `GPU ${gpu?.index ?? place}`;
}

const targetsOf: Readonly<Record<GpuVendor, RegExp>> = { nvidia: /^(?:sm|compute)_/, amd: /^(?:gfx|amdgcn)/ };
