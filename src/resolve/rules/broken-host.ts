/** Rule: a broken host is not a small host. A CPU image is chosen there only when the user asks for one. */

import { type HostView, vendorOfProblem } from "../host-view.ts";
import { misfit } from "../misfit.ts";
import type { Misfit } from "../verdict.ts";
import { isConcerned, type GpuSide, type Wanted } from "./gpu-side.ts";

export function checkBrokenHost(
  side: GpuSide,
  wanted: Wanted,
  host: Pick<HostView, "broken">,
): Misfit | null {
  const problem = host.broken.find((each) => {
    const vendor = vendorOfProblem(each);
    const isNvidias = vendor === "nvidia" && side === "cpu" && !wanted.cpu;
    return isNvidias || isConcerned(side, vendor, wanted);
  });
  if (problem === undefined) return null;
  const repair = problem.fix ?? "repair the host's GPU driver, usually by a reboot";
  return misfit(
    "HOST_BROKEN",
    `${problem.code}: ${problem.message}`,
    side === "cpu" ? `${repair}; to run without the GPUs, ask for a CPU image (--cpu)` : repair,
  );
}
