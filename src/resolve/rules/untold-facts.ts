/** Rule: an answer that depends on a fact that nobody has told is refused. An open fact is not "no". */

import { isLabelled } from "../../host/host-problems.ts";
import type { HostView } from "../host-view.ts";
import { misfit } from "../misfit.ts";
import type { Misfit } from "../verdict.ts";

export function checkTold(
  needsGpu: boolean,
  depends: boolean,
  { untold: [fact], others }: Pick<HostView, "untold" | "others">,
): Misfit | null {
  if (fact === undefined || !depends) return null;
  const which = fact === "nvidia" ? "whether this host has an NVIDIA GPU" : `${fact} of this host`;
  const from = isLabelled(others) ? "no label of this node tells it" : `its facts do not have ${fact}`;
  const tell = [
    ...(isLabelled(others)
      ? [`run ${fact === "nvidia" ? "Node" : "GPU"} Feature Discovery on the node`]
      : []),
    ...(fact.endsWith(".compute")
      ? ["update the NVIDIA driver, which may tell it", "hide that GPU"]
      : ["run imgmatch probe --json on the host and pass its output"]),
    fact === "nvidia"
      ? "say --no-gpu where it has none"
      : fact === "nvidia.driver"
        ? "name it: --driver VERSION"
        : `add ${fact} to its facts (imgmatch probe --json writes them, --host reads them)`,
    ...(needsGpu ? [] : ["ask for a CPU image (--cpu)"]),
  ];
  return misfit(
    "FACT_UNKNOWN",
    `${needsGpu ? "needs to know" : "an image with GPU code may be the better one, and nothing says"} ${which}: ${from}`,
    tell.map((text) => ({ text, remedy: null })),
  );
}
