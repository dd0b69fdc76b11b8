/** `GPU 0 runs sm_90a` for each GPU of a host that an image fits. */

import type { HostFacts } from "../host/facts.ts";
import type { CodeFit } from "./verdict.ts";

/** Where some GPUs are hidden, the driver's number is not the place in the list. */
export function describeCode(
  code: readonly Pick<CodeFit, "target">[],
  { nvidia }: Pick<HostFacts, "nvidia">,
): string[] {
  return code.map(({ target }, place) => `GPU ${nvidia?.gpus[place]?.index ?? place} runs ${target}`);
}
