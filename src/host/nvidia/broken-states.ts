/** States in which the driver answers and CUDA fails before the first kernel, with the facts that show each state. */

import type { FabricState, HostFacts, HostProblem, NvidiaFacts } from "../facts.ts";
import { emptyMig, fabricNotReady, noUvm } from "../host-problems.ts";

/** CUDA waits for the registration with the fabric, and fails with 802 where none comes (NVIDIA, Fabric Manager User Guide). */
const isReady = {
  none: true,
  completed: true,
  "not-started": false,
  "in-progress": false,
  failed: false,
} as const satisfies Record<FabricState, boolean>;

function stateProblems({ driver, gpus, uvm }: NvidiaFacts): readonly HostProblem[] {
  const waiting = gpus.filter(({ fabric = "none" }) => !isReady[fabric]);
  const undivided = gpus.filter(({ mig }) => mig?.length === 0);
  return [
    ...(waiting.length === 0 ? [] : [fabricNotReady(waiting, driver)]),
    ...(undivided.length === 0 ? [] : [emptyMig(undivided)]),
    ...(uvm === false && gpus.length > 0 ? [noUvm()] : []),
  ];
}

/** Adds the problems that the facts of driver and GPUs prove and that no reader has named. */
export function withStateProblems(facts: HostFacts): HostFacts {
  const { nvidia, problems } = facts;
  const named = new Set(problems.map(({ code }) => code));
  const found = nvidia == null ? [] : stateProblems(nvidia).filter(({ code }) => !named.has(code));
  return found.length === 0 ? facts : { ...facts, problems: [...problems, ...found] };
}
