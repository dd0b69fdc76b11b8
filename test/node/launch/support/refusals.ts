/**
 * The requests behind the golden files that each target must refuse, by code. They are said here a second time, so that new
 * golden files cannot make a refusal right.
 */

import type { ProblemCode } from "../../../../src/problem-codes.ts";
import type { launchTargets } from "../../../../src/node/launch/launch-targets.ts";
import type { gpuModes } from "./requests.ts";

export interface GoldenCase {
  readonly task: "batch" | "service";
  readonly mode: keyof typeof gpuModes;
  /** `small`: the image and what the target cannot do without. `program`: all of `everything`, and a program of its own. */
  readonly asks: "small" | "everything" | "program";
}

type Refused = (it: GoldenCase) => boolean;
type Refusals = Partial<Record<"LAUNCH_UNSUPPORTED" | "LAUNCH_FAILED", Refused>>;

const isService: Refused = ({ task }) => task === "service";
const isBatch: Refused = ({ task }) => task === "batch";
const isMig: Refused = ({ mode }) => mode === "MIG";
const bundlesDriver: Refused = ({ mode }) => mode === "bundled driver";
const wantsGpu: Refused = ({ mode }) => mode !== "no GPU";
const isAmd: Refused = ({ mode }) => mode === "AMD" || mode === "AMD through CDI";
const either =
  (...all: readonly Refused[]): Refused =>
  (it) =>
    all.some((each) => each(it));

/** They hand the container the devices of this host, which has no NVIDIA runtime. */
const noRuntime: Refused = ({ mode }) => mode === "no runtime";

const refusals = {
  apptainer: {
    // A name is an instance's, and an instance starts the image's own program.
    LAUNCH_UNSUPPORTED: ({ task, asks }) => (task === "batch" ? asks !== "small" : asks === "program"),
  },
  chronos: { LAUNCH_UNSUPPORTED: either(wantsGpu, isService) },
  compose: { LAUNCH_FAILED: noRuntime },
  docker: { LAUNCH_FAILED: noRuntime },
  kubernetes: { LAUNCH_UNSUPPORTED: bundlesDriver },
  marathon: { LAUNCH_UNSUPPORTED: either(isBatch, isMig, isAmd) },
  // "everything" is kept to the nodes that the image fits, "program" is not.
  mesos: { LAUNCH_UNSUPPORTED: either(isService, isMig, isAmd, ({ asks }) => asks === "everything") },
  nomad: { LAUNCH_UNSUPPORTED: either(bundlesDriver, isAmd) },
  "nvidia-docker": { LAUNCH_UNSUPPORTED: either(bundlesDriver, isMig, isAmd) },
  // It knows CDI alone.
  podman: { LAUNCH_FAILED: ({ mode }) => mode === "no runtime" || mode === "NVIDIA runtime" },
  slurm: { LAUNCH_UNSUPPORTED: either(isService, ({ asks }) => asks === "small") },
  swarm: { LAUNCH_UNSUPPORTED: either(bundlesDriver, isMig) },
  // It mounts no folder of the host, and hands out no GPU.
  zun: { LAUNCH_UNSUPPORTED: either(wantsGpu, ({ asks }) => asks !== "small") },
} as const satisfies Record<keyof typeof launchTargets, Refusals>;

/** null where it must write a launch. */
export function expectedRefusal(target: keyof typeof launchTargets, it: GoldenCase): ProblemCode | null {
  const codes: Refusals = refusals[target];
  if (codes.LAUNCH_UNSUPPORTED?.(it)) return "LAUNCH_UNSUPPORTED";
  return codes.LAUNCH_FAILED?.(it) ? "LAUNCH_FAILED" : null;
}
