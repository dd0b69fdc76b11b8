/** Rule: a broken host is not a small host. It gets a CPU image only when the user asks for one. */

import type { HostProblem } from "../../facts/facts.ts";
import { countsAlways, type HostView, vendorOfProblem } from "../host-view.ts";
import { misfit } from "../misfit.ts";
import { type FitOptions, wantsCpu } from "../resolve-options.ts";
import type { Misfit } from "../verdict.ts";
import { isConcerned, type GpuSide, sideOf } from "./gpu-side.ts";
import { rule } from "./rule.ts";

export const brokenHostRule = rule({
  image: ({ requires }) => sideOf(requires),
  asks: ["broken"],
  answer: checkBrokenHost,
});

export function checkBrokenHost(
  side: GpuSide,
  host: Pick<HostView, "broken">,
  options: FitOptions,
): Misfit | null {
  const problem = host.broken.find((found) => {
    const vendor = vendorOfProblem(found);
    const isMissed = countsAlways[vendor] && side === "cpu" && !wantsCpu(options);
    return isMissed || isConcerned(side, vendor, options);
  });
  if (problem === undefined) return null;
  const repair = repairOf(problem);
  return misfit(
    "HOST_BROKEN",
    `${problem.code}: ${problem.message}`,
    side === "cpu" ? `${repair}; to run without the GPUs, ask for a CPU image (--cpu)` : repair,
  );
}

export const repairOf = ({ fix = "repair the host's GPU driver, usually by a reboot" }: HostProblem) => fix;
