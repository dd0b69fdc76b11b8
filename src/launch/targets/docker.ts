/** `docker run`. */

import { containerOptions, modeOptions } from "../container-options.ts";
import { deviceNodes, isBundled, neededUnits, withoutToolkit } from "../gpu-needs.ts";
import { unitId } from "../gpu-units.ts";
import type { LaunchCommand, LaunchRequest, LocalTarget } from "../target.ts";

/**
 * @example
 * docker.command({ reference, requires, host, args: ["--steps", "10"] }).argv;
 * // ["docker", "run", "--rm", "--device", "nvidia.com/gpu=0", "--", reference, "--steps", "10"]
 */
export const docker: LocalTarget = {
  name: "docker",
  description: "docker run on this machine",
  gpus: "imgmatch",
  formats: ["shell", "json"],
  engine: "docker",
  command,
  launch: (request) => ({ form: "command", command: command(request) }),
};

function command(request: LaunchRequest): LaunchCommand {
  const { reference, args, options = [] } = request;
  const mode = modeOptions(request, "unless-stopped");
  const words = [...mode, ...gpuOptions(request), ...containerOptions(request), ...options];
  return { argv: ["docker", "run", ...words, "--", reference, ...args], env: {} };
}

function gpuOptions(request: LaunchRequest): readonly string[] {
  const units = neededUnits(request);
  if (units.length === 0) return [];
  // A bundled driver needs the kernel's devices alone: a runtime that mounts the host's library would break it.
  if (isBundled(request)) return deviceNodes("docker", units).flatMap((node) => ["--device", node]);
  switch (request.host.runtime.nvidia) {
    case "cdi":
      return units.flatMap(({ name }) => ["--device", `nvidia.com/gpu=${name}`]);
    case "legacy":
    case null:
      // The quotes are Docker's own: the value is read as CSV, and a comma would end the field.
      return ["--gpus", `"device=${units.map(unitId).join(",")}"`];
    case "none":
      throw withoutToolkit("the image takes the host's NVIDIA driver and Docker has no NVIDIA runtime here");
  }
}
