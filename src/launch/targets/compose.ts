/** A service of a Compose file. Source: Compose Specification, "services" and "deploy.resources.reservations.devices". */

import { boundFolder, literal, literals } from "../compose-text.ts";
import { filled, given } from "../filled.ts";
import { deviceNodes, isBundled, neededUnits, withoutToolkit } from "../gpu-needs.ts";
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
      [service]: filled({
        image: reference,
        container_name: name,
        restart: task === "service" ? "unless-stopped" : "no",
        entrypoint: given(program, (word) => [literal(word)]),
        command: args.map(literal),
        environment: literals(env),
        volumes: mounts.map(boundFolder),
        cpus,
        mem_limit: given(memoryMiB, (amount) => `${amount}m`),
        ...gpus(request),
      }),
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
      throw withoutToolkit("the image takes the host's NVIDIA driver and Docker has no NVIDIA runtime here");
  }
}
