/** `podman run`: GPUs come through CDI. Source: NVIDIA Container Toolkit, "Support for Container Device Interface". */

import { ImgmatchError } from "../../errors.ts";
import { byDigest } from "../../oci/immutable-reference.ts";
import { containerOptions } from "../container-options.ts";
import { deviceNodes, isBundled, neededUnits } from "../gpu-needs.ts";
import type { LaunchCommand, LaunchRequest, LocalTarget } from "../target.ts";

export const podman: LocalTarget = {
  name: "podman",
  description: "podman run on this machine",
  gpus: "imgmatch",
  formats: ["shell", "json"],
  engine: "podman",
  command,
  launch: (request) => ({ form: "command", command: command(request) }),
};

function command(request: LaunchRequest): LaunchCommand {
  const { reference, args, task = "batch", interactive = false, tty = false, options = [] } = request;
  const mode = task === "service" ? ["--detach", "--restart", "always"] : ["--rm"];
  const terminal = [...(interactive ? ["--interactive"] : []), ...(tty ? ["--tty"] : [])];
  const devices = deviceNames(request).flatMap((device) => ["--device", device]);
  const words = [...mode, ...terminal, ...devices, ...containerOptions(request), ...options];
  return { argv: ["podman", "run", ...words, "--", byDigest(reference), ...args], env: {} };
}

function deviceNames(request: LaunchRequest): readonly string[] {
  const units = neededUnits(request);
  if (units.length === 0) return [];
  if (isBundled(request)) return deviceNodes("podman", units);
  const runtime = request.host.runtime.nvidia;
  if (runtime === "legacy" || runtime === "none") {
    throw new ImgmatchError({
      code: "LAUNCH_FAILED",
      message: "podman gets GPUs through CDI, and this host has no CDI specification for them",
      fix: "install the NVIDIA Container Toolkit and run: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
    });
  }
  return units.map(({ name }) => `nvidia.com/gpu=${name}`);
}
