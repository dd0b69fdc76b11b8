/** A service of a Compose file. Source: Compose Specification, "services" and "deploy.resources.reservations.devices". */

import { baseName, dnsName, filled, given, type JsonObject } from "../workload-name.ts";
import { cdiName, deviceNodes, isBundled, neededUnits, withoutRuntime } from "../gpu-needs.ts";
import { unitId } from "../gpu-units.ts";
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
  const units = neededUnits(request);
  if (units.length === 0) return {};
  if (isBundled(request)) return { devices: deviceNodes("compose", units).map((node) => `${node}:${node}`) };
  const { nvidia } = request.host.runtime;
  if (nvidia === "none") throw withoutRuntime();
  const devices =
    nvidia === "cdi"
      ? // The engine's own driver for CDI names (moby, daemon/cdi.go), which docker run --device uses too.
        { driver: "cdi", device_ids: units.map(cdiName) }
      : { driver: "nvidia", device_ids: units.map(unitId) };
  return { deploy: { resources: { reservations: { devices: [{ ...devices, capabilities: ["gpu"] }] } } } };
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
