/** `podman run`: GPUs come through CDI. Source: NVIDIA Container Toolkit, "Support for Container Device Interface". */

import { byDigest } from "../../oci/immutable-reference.ts";
import { containerOptions, modeOptions } from "../container-options.ts";
import { deviceNodes, isBundled, neededUnits, withoutToolkit } from "../gpu-needs.ts";
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
  const { reference, args, options = [] } = request;
  const mode = modeOptions(request, "always");
  const devices = deviceNames(request).flatMap((device) => ["--device", device]);
  const words = [...mode, ...devices, ...containerOptions(request), ...options];
  return { argv: ["podman", "run", ...words, "--", byDigest(reference), ...args], env: {} };
}

function deviceNames(request: LaunchRequest): readonly string[] {
  const units = neededUnits(request);
  if (units.length === 0) return [];
  if (isBundled(request)) return deviceNodes("podman", units);
  const runtime = request.host.runtime.nvidia;
  if (runtime === "legacy" || runtime === "none") {
    throw withoutToolkit("podman gets GPUs through CDI, and this host has no CDI specification for them");
  }
  return units.map(({ name }) => `nvidia.com/gpu=${name}`);
}
