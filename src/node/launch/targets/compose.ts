/** A service of a Compose file. Source: Compose Specification, "services" and "deploy.resources.reservations.devices". */

import { baseName, dnsName, filled, given, type JsonObject } from "../workload-name.ts";
import { handoverOf } from "../gpu-needs.ts";
import type { Json, LaunchRequest, LaunchTarget } from "../target.ts";

export const compose: LaunchTarget = {
  name: "compose",
  description: "a Compose file for docker compose",
  gpus: "imgmatch",
  formats: ["yaml", "json"],
  launch: (request) => ({ form: "documents", documents: [composeFile(request)] }),
};

function composeFile(request: LaunchRequest): Json {
  const { reference, task = "batch", cpus, memoryMiB, name } = request;
  const service = dnsName(name ?? baseName(reference));
  return {
    services: {
      [service]: filled({
        image: reference,
        container_name: name,
        restart: task === "service" ? "unless-stopped" : "no",
        ...serviceFields(request),
        cpus,
        mem_limit: given(memoryMiB, (amount) => `${amount}m`),
        ...gpus(request),
      }),
    },
  };
}

function gpus(request: LaunchRequest): JsonObject {
  const handover = handoverOf("compose", request);
  if (handover === null) return {};
  const groups = filled({ group_add: handover.by === "runtime" ? [] : handover.groups });
  if (handover.by === "devices")
    return { devices: handover.nodes.map((node) => `${node}:${node}`), ...groups };
  const devices =
    handover.by === "cdi"
      ? // The engine's own driver for CDI names (moby, daemon/cdi.go), which docker run --device uses too.
        { driver: "cdi", device_ids: handover.names }
      : { driver: "nvidia", device_ids: handover.ids };
  const reservations = { devices: [{ ...devices, capabilities: ["gpu"] }] };
  return { deploy: { resources: { reservations } }, ...groups };
}

/** The fields of a service about its container, in a stack file of a swarm too. */
export function serviceFields({ program, args, env = {}, mounts = [] }: LaunchRequest): JsonObject {
  return {
    ...(program === undefined ? {} : { entrypoint: [literal(program)] }),
    command: args.map(literal),
    environment: Object.fromEntries(Object.entries(env).map(([key, text]) => [key, literal(text)])),
    volumes: mounts.map(({ source, target, readOnly }) => ({
      ...{ type: "bind", source: literal(source), target: literal(target) },
      ...(readOnly ? { read_only: true } : {}),
    })),
  };
}

/** `$` begins a variable in a Compose file, `$$` is the sign itself (Compose Specification, "Interpolation"). */
function literal(text: string): string {
  return text.replaceAll("$", "$$$$");
}
