/**
 * nvidia-docker version 1 is a wrapper of docker that mounts the host's driver as a volume of its plugin. Source:
 * NVIDIA/nvidia-docker, branch 1.0 (1.0.1), src/nvidia-docker/env.go and src/nvidia/devices.go (`NV_GPU`: indexes or uuids),
 * src/nvidia-docker/local.go (volume, devices and the check of the CUDA version), src/nvidia/volumes.go (name of the volume).
 */

import { ImgmatchError } from "../../../errors.ts";
import { compareVersions, parseCudaVersion } from "../../../hardware/driver-version.ts";
import { flags } from "../fields.ts";
import { neededUnits, refuseVendor, type ByVendorWords } from "../gpu-needs.ts";
import { type GpuUnit, unitId } from "../gpu-units.ts";
import { deviceNodes } from "../nvidia-handover.ts";
import {
  isBundled,
  localTarget,
  type LaunchCommand,
  type LaunchRequest,
  type LocalTarget,
  type Mount,
} from "../target.ts";
import { unsupportedBy } from "../unsupported.ts";
import { containerOptions, modeOptions } from "./docker-run.ts";

const cannot = unsupportedBy("nvidia-docker");

const whyNot: ByVendorWords = { nvidia: null, amd: "it is a wrapper for NVIDIA's driver" };

export const nvidiaDocker: LocalTarget = localTarget({
  name: "nvidia-docker",
  description: "nvidia-docker 1 on this machine",
  engine: "docker",
  settings: { wrapper: "yes: through nvidia-docker; no: docker with the plugin's volume and the devices" },
  command: nvidiaDockerRun,
});

function nvidiaDockerRun(request: LaunchRequest): LaunchCommand {
  const { reference, args, settings = {}, options = [] } = request;
  refuseVendor(request, cannot, whyNot);
  const units = neededUnits(request);
  if (units.length > 0) refuseUnits(request, units);
  const volumes = flags("--volume", (request.mounts ?? []).map(volumeOf));
  const words = [...modeOptions(request, "unless-stopped"), ...containerOptions(request, volumes)];
  const image = [...options, "--", reference, ...args];
  if (units.length === 0) return { argv: ["docker", "run", ...words, ...image], env: {} };
  if (settings.wrapper === "no") {
    const gpus = pluginOptions(request.host.nvidia?.driver ?? null, units);
    return { argv: ["docker", "run", ...words, ...gpus, ...image], env: {} };
  }
  refuseNewerCuda(request);
  return {
    // No `--`: the wrapper reads it as an option whose value is the image (src/docker/docker.go, ParseArgs).
    argv: ["nvidia-docker", "run", ...words, ...options, reference, ...args],
    env: { NV_GPU: units.map(unitId).join(",") },
  };
}

/** The volume and the devices that the wrapper would add. */
function pluginOptions(driver: string | null, units: readonly GpuUnit[]): readonly string[] {
  if (driver === null) {
    throw new ImgmatchError({
      code: "LAUNCH_FAILED",
      message: "the plugin's volume is named after the driver's version, which is unknown here",
      fix: "leave --set wrapper=no out, so that nvidia-docker asks the driver itself",
    });
  }
  return [
    "--volume-driver=nvidia-docker",
    `--volume=nvidia_driver_${driver}:/usr/local/nvidia:ro`,
    ...deviceNodes("nvidia-docker", units).map((node) => `--device=${node}`),
  ];
}

function refuseUnits(request: LaunchRequest, units: readonly GpuUnit[]): void {
  if (isBundled(request)) {
    throw cannot(
      "run an image that bundles its driver: it mounts the host's driver over it",
      "launch it with docker, which hands over the devices alone",
    );
  }
  if (units.some(({ mig }) => mig !== null))
    throw cannot("name a MIG instance", "launch it with docker and a newer toolkit");
}

/** The wrapper refuses an image with a newer CUDA than the driver's: it knows no minor version compatibility. */
function refuseNewerCuda({ requires: { cuda }, host }: LaunchRequest): void {
  const image = parseCudaVersion(cuda?.toolkit ?? "");
  const driver = parseCudaVersion(host.nvidia?.cuda ?? "");
  if (image === null || driver === null) return;
  if (compareVersions(image.parts.slice(0, 2), driver.parts.slice(0, 2)) <= 0) return;
  throw cannot(
    `run an image of CUDA ${image.text} under a driver of CUDA ${driver.text}: it calls that unsupported`,
    "add --set wrapper=no, which mounts the same driver without asking",
  );
}

/** `--volume`, in which a colon separates: `docker run --mount` came later (17.06). */
function volumeOf({ source, target, readOnly }: Mount): string {
  if (`${source}${target}`.includes(":"))
    throw cannot("mount a path with a colon", "mount its parent folder");
  return `${source}:${target}${readOnly ? ":ro" : ""}`;
}
