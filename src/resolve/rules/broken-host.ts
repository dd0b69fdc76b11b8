/** Rule: a broken host is not a small host. A CPU image is chosen there only when the user asks for one. */

import type { HostView } from "../host-view.ts";
import { misfit } from "../misfit.ts";
import type { Misfit } from "../verdict.ts";

export function checkBrokenHost(
  needsGpu: boolean,
  cpuWanted: boolean,
  host: Pick<HostView, "broken">,
): Misfit | null {
  const [problem] = host.broken;
  if (problem === undefined || (!needsGpu && cpuWanted)) return null;
  const repair = problem.fix ?? "repair the host's GPU driver, usually by a reboot";
  return misfit(
    "HOST_BROKEN",
    `${problem.code}: ${problem.message}`,
    needsGpu ? repair : `${repair}; to run without the GPUs, ask for a CPU image (--cpu)`,
  );
}
