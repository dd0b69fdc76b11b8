/** Tries the cure "choose some of the GPUs". */

import type { HostView } from "../../host-view.ts";
import type { TrialOf } from "../../trial.ts";
import type { ReasonCode } from "../../verdict.ts";

/** Without the other GPUs the reason is gone, and no other has come. */
export function tryGpus(gpus: readonly number[], code: ReasonCode, { image, host, trial }: TrialOf): boolean {
  const before = trial(image, host);
  const after = trial(image, seeing(host, gpus));
  return !after.has(code) && [...after].every((each) => before.has(each));
}

/** The host with these of its GPUs. */
export function seeing(host: HostView, gpus: readonly number[] | undefined): HostView {
  if (gpus === undefined || host.nvidia === null) return host;
  const seen = host.nvidia.gpus.filter(({ index }) => gpus.includes(index));
  return { ...host, nvidia: { ...host.nvidia, gpus: seen } };
}
