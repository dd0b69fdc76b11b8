/** All launch targets: one file of `targets/` and one line here for each. */

import { usageError } from "../../errors.ts";
import type { LaunchTarget } from "./target.ts";
import { apptainer } from "./targets/apptainer.ts";
import { compose } from "./targets/compose.ts";
import { docker, podman } from "./targets/docker-run.ts";
import { kubernetes } from "./targets/kubernetes.ts";
import { chronos, marathon, mesos } from "./targets/mesos-frameworks.ts";
import { nomad } from "./targets/nomad.ts";
import { nvidiaDocker } from "./targets/nvidia-docker.ts";
import { slurm } from "./targets/slurm.ts";
import { swarm } from "./targets/swarm.ts";
import { zun } from "./targets/zun.ts";

/** In the order of the help text. */
export const launchTargets = {
  docker,
  "nvidia-docker": nvidiaDocker,
  podman,
  apptainer,
  compose,
  swarm,
  kubernetes,
  mesos,
  marathon,
  chronos,
  zun,
  nomad,
  slurm,
} as const satisfies Record<string, LaunchTarget>;

export type LaunchTargetName = keyof typeof launchTargets;

/** Throws `USAGE` for an unknown name. */
export function launchTarget(name: string): LaunchTarget {
  if (Object.hasOwn(launchTargets, name)) return launchTargets[name as LaunchTargetName];
  throw usageError(
    `there is no launch target ${JSON.stringify(name)}`,
    `use one of: ${Object.keys(launchTargets).join(", ")}`,
  );
}
