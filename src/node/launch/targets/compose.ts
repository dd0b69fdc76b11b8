/** A service of a Compose file. Source: Compose Specification, "services" and "deploy.resources.reservations.devices". */

import { filled, given, type JsonObject } from "../fields.ts";
import { handoverOf } from "../gpu-needs.ts";
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
  const { reference, task = "batch", cpus, memoryMiB, name } = request;
  const service = dnsName(name ?? baseName(reference));
  return {
    services: {
      [service]: filled({
        image: reference,
        container_name: name,
        ports: (request.ports ?? []).map(({ host, container, protocol }) => ({
          ...{ target: container, published: String(host), protocol },
        })),
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
  const groups = filled({ group_add: handover.via === "runtime" ? [] : handover.groups });
  if (handover.via === "files")
    return { devices: handover.devices.map((node) => `${node}:${node}`), ...groups };
  const devices =
    handover.via === "runtime"
      ? { driver: "nvidia", device_ids: handover.ids }
      : // Docker's driver for CDI names (moby, daemon/cdi.go), which docker run --device uses too.
        { driver: "cdi", device_ids: handover.devices };
  const reservations = { devices: [{ ...devices, capabilities: ["gpu"] }] };
  return { deploy: { resources: { reservations } }, ...groups };
}

/** The fields about the container of a service, also in a swarm's stack file. */
export function serviceFields({ program, args, env = {}, mounts = [] }: LaunchRequest): JsonObject {
  return {
    ...(program === undefined ? {} : { entrypoint: [doubleDollar(program)] }),
    command: args.map(doubleDollar),
    environment: Object.fromEntries(Object.entries(env).map(([key, text]) => [key, doubleDollar(text)])),
    volumes: mounts.map(({ source, target, readOnly }) => ({
      ...{ type: "bind", source: doubleDollar(source), target: doubleDollar(target) },
      ...(readOnly ? { read_only: true } : {}),
    })),
  };
}

/** `$` begins a variable in a Compose file, `$$` is a dollar sign (Compose Specification, "Interpolation"). */
export function doubleDollar(text: string): string {
  return text.replaceAll("$", "$$$$");
}
