/** Rule: no image is judged by a fact that is unknown. Unknown is not "no". */

import { type GpuVendor, gpuVendors, vendorNames } from "../../hardware/gpu-vendors.ts";
import { isLabelled } from "../../facts/host-problems.ts";
import type { HostView } from "../host-view.ts";
import { byHand, misfit } from "../misfit.ts";
import type { FitOptions } from "../resolve-options.ts";
import type { Misfit } from "../verdict.ts";
import { type GpuSide, isConcerned, sideOf } from "./gpu-side.ts";
import { rule } from "./rule.ts";

export const unknownFactsRule = rule({
  image: ({ requires }) => sideOf(requires),
  asks: ["unknownGpuFacts", "otherProblems"],
  answer: checkFactsKnown,
});

export function checkFactsKnown(
  side: GpuSide,
  { unknownGpuFacts, otherProblems }: Pick<HostView, "unknownGpuFacts" | "otherProblems">,
  options: FitOptions,
): Misfit | null {
  const vendor = gpuVendors.find(
    (each) => unknownGpuFacts[each].length > 0 && isConcerned(side, each, options),
  );
  const [fact] = vendor === undefined ? [] : unknownGpuFacts[vendor];
  if (vendor === undefined || fact === undefined) return null;
  const needsIt = side === vendor;
  const which =
    fact === vendor ? `whether this host has an ${vendorNames[vendor]} GPU` : `${fact} of this host`;
  const labelled = isLabelled(otherProblems);
  const from = labelled ? "no label of this node tells it" : `its facts do not have ${fact}`;
  const { labels, tells } = sources[vendor];
  const tell = [
    ...(labelled ? labels(fact) : []),
    ...(/\.(?:compute|target)$/.test(fact)
      ? [`update ${tells}, which may tell it`, "hide that GPU"]
      : ["run imgmatch probe --json on the host and pass its output"]),
    fact === vendor
      ? "say --no-gpu where it has none"
      : fact === `${vendor}.driver`
        ? `name it: --driver ${vendor}=VERSION`
        : `add ${fact} to the facts (imgmatch probe --json writes facts, --host reads them)`,
    ...(side === "cpu" ? ["ask for a CPU image (--cpu)"] : []),
  ];
  return misfit(
    "FACT_UNKNOWN",
    `${needsIt ? "needs to know" : "an image with GPU code may be better, and these facts do not tell"} ${which}: ${from}`,
    tell.map((text) => byHand(text)),
  );
}

/** What tells a vendor's facts: the program that labels nodes, and the part of the host. */
const sources: Readonly<
  Record<GpuVendor, { labels(fact: string): readonly string[]; readonly tells: string }>
> = {
  nvidia: {
    labels: (fact) => [`run ${fact === "nvidia" ? "Node" : "GPU"} Feature Discovery on the node`],
    tells: "the NVIDIA driver",
  },
  amd: { labels: () => [], tells: "the kernel" },
};
