/** A service of a Compose file. Source: Compose Specification, "services" and "deploy.resources.reservations.devices". */

import { ImgmatchError } from "../../errors.ts";
import { deviceNodes, isBundled, neededUnits } from "../gpu-needs.ts";
import { unitId } from "../gpu-units.ts";
import type { Json, LaunchRequest, LaunchTarget } from "../target.ts";
import { baseName, dnsName } from "../workload-name.ts";

export const compose: LaunchTarget = {
  name: "compose",
  description: "a Compose file for docker compose",
  gpus: "imgmatch",
  formats: ["yaml", "json"],
  launch: (request) => ({ form: "documents", documents: [composeFile(request)] }),
};

function composeFile(request: LaunchRequest): Json {
  const { reference, args, program, task = "batch", env = {}, mounts = [], cpus, memoryMiB, name } = request;
  const service = dnsName(name ?? baseName(reference));
  return {
    services: {
      [service]: {
        image: reference,
        ...(name === undefined ? {} : { container_name: name }),
        restart: task === "service" ? "unless-stopped" : "no",
        ...(program === undefined ? {} : { entrypoint: [literal(program)] }),
        ...(args.length === 0 ? {} : { command: args.map(literal) }),
        ...(Object.keys(env).length === 0 ? {} : { environment: mapValues(env, literal) }),
        ...(mounts.length === 0
          ? {}
          : {
              volumes: mounts.map(({ source, target, readOnly }) => ({
                type: "bind",
                source: literal(source),
                target: literal(target),
                ...(readOnly ? { read_only: true } : {}),
              })),
            }),
        ...(cpus === undefined ? {} : { cpus }),
        ...(memoryMiB === undefined ? {} : { mem_limit: `${memoryMiB}m` }),
        ...gpus(request),
      },
    },
  };
}

function gpus(request: LaunchRequest): { readonly [key: string]: Json } {
  const units = neededUnits(request);
  if (units.length === 0) return {};
  if (isBundled(request)) return { devices: deviceNodes("compose", units).map((node) => `${node}:${node}`) };
  const reserve = (driver: string, ids: readonly string[]) => ({
    deploy: {
      resources: { reservations: { devices: [{ driver, device_ids: ids, capabilities: ["gpu"] }] } },
    },
  });
  switch (request.host.runtime.nvidia) {
    case "cdi":
      // The engine's own driver for CDI names (moby, daemon/cdi.go), which docker run --device uses too.
      return reserve(
        "cdi",
        units.map(({ name }) => `nvidia.com/gpu=${name}`),
      );
    case "legacy":
    case null:
      return reserve("nvidia", units.map(unitId));
    case "none":
      throw new ImgmatchError({
        code: "LAUNCH_FAILED",
        message: "the image takes the host's NVIDIA driver and Docker has no NVIDIA runtime here",
        fix: "install the NVIDIA Container Toolkit and run: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
      });
  }
}

/** `$` begins a variable in a Compose file, `$$` is the sign itself (Compose Specification, "Interpolation"). */
function literal(text: string): string {
  return text.replaceAll("$", "$$$$");
}

function mapValues(
  record: Readonly<Record<string, string>>,
  change: (value: string) => string,
): { readonly [key: string]: string } {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
