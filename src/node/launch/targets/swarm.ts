/**
 * A service of a Docker swarm. GPUs are generic resources of the nodes; the node's NVIDIA or AMD runtime turns what it is given
 * (`DOCKER_RESOURCE_NVIDIA-GPU`) into devices. Sources: docker service create and dockerd references ("generic resources"),
 * Compose file version 3, "deploy"; ROCm/container-toolkit, commit 192fe8e: docs/container-runtime/docker-swarm.md.
 */

import { baseName, dnsName, filled, given } from "../workload-name.ts";
import { isBundled, wholeGpus } from "../gpu-needs.ts";
import { vendorOf } from "../gpu-units.ts";
import { labelNames } from "../labels/vocabulary.ts";
import { shellWord } from "../shell.ts";
import type { FleetTarget, Json, LaunchCommand, LaunchRequest } from "../target.ts";
import { unsupportedBy } from "../unsupported.ts";
import { serviceFields } from "./compose.ts";
import { bindOption } from "./docker-run.ts";

/** As in Docker's own examples, `dockerd --node-generic-resource "NVIDIA-GPU=GPU-…"`, and in AMD's. */
function resourceKind({ requires }: LaunchRequest): string {
  return vendorOf(requires) === "amd" ? "AMD_GPU" : "NVIDIA-GPU";
}

const cannot = unsupportedBy("swarm");

export const swarm: FleetTarget = {
  name: "swarm",
  description: "docker service create, or a stack file, for a Docker swarm",
  gpus: "scheduler",
  formats: ["shell", "yaml", "json"],
  launch: (request, format) =>
    format === "yaml"
      ? { form: "documents", documents: [stackFile([request])] }
      : { form: "command", command: serviceCreate(request) },
  fleetNote: () =>
    "a swarm's constraints know neither alternatives nor numbers, so they ask for what a node says that resolve picks there: label nodes again when the lock changes",
  // Global: one task on every node that the constraints leave.
  fleet: (launches) => [
    stackFile(
      launches.map(({ request }) => request),
      "global",
    ),
  ],
};

function serviceCreate(request: LaunchRequest): LaunchCommand {
  const { reference, args, program, env = {}, mounts = [], cpus, memoryMiB, options = [] } = request;
  const batch = (request.task ?? "batch") === "batch";
  const count = gpuCount(request);
  return {
    argv: [
      ...(["docker", "service", "create"] as const),
      ...["--name", serviceName(request), "--detach"],
      // A job runs to its end and is not started again (docker service create, "Running as a job").
      ...(batch ? ["--mode", "replicated-job", "--restart-condition", "none"] : ["--mode", "replicated"]),
      ...(count === 0 ? [] : ["--generic-resource", `${resourceKind(request)}=${count}`]),
      ...constraints(request).flatMap((constraint) => ["--constraint", constraint]),
      ...Object.entries(env).flatMap(([key, value]) => ["--env", `${key}=${value}`]),
      ...mounts.flatMap((mount) => ["--mount", bindOption(mount)]),
      ...(cpus === undefined ? [] : ["--limit-cpu", String(cpus)]),
      ...(memoryMiB === undefined ? [] : ["--limit-memory", `${memoryMiB}m`]),
      // The option takes a shell-like line and splits it, so a blank or a quote would fall apart (docker/cli, ShlexOpt).
      ...(program === undefined ? [] : ["--entrypoint", shellWord(program)]),
      ...options,
      "--",
      reference,
      ...args,
    ],
    env: {},
  };
}

function stackFile(requests: readonly LaunchRequest[], spread: "replicated" | "global" = "replicated"): Json {
  return filled({
    // docker stack reads version 3 files; discrete_resource_spec came with 3.5.
    version: "3.9",
    services: Object.fromEntries(
      requests.map((request) => [serviceName(request), stackService(request, spread)]),
    ),
    networks: requests.some((request) => gpuCount(request) > 0) ? nodesOwnNetwork : undefined,
  });
}

/**
 * A stack would make an overlay network, joining it changes the node, and a changed node loses every task that holds generic
 * resources: "assigned node no longer meets constraints" (swarmkit, constraintenforcer). docker service create makes none.
 */
const nodesOwnNetwork = { default: { external: true, name: "bridge" } } as const;

function stackService(request: LaunchRequest, spread: "replicated" | "global"): Json {
  const { reference, cpus, memoryMiB } = request;
  const batch = (request.task ?? "batch") === "batch";
  const count = gpuCount(request);
  const gpus = { discrete_resource_spec: { kind: resourceKind(request), value: count } };
  return filled({
    image: reference,
    ...serviceFields(request),
    deploy: filled({
      mode: batch ? `${spread}-job` : spread,
      restart_policy: batch ? { condition: "none" } : undefined,
      placement: filled({ constraints: constraints(request) }),
      resources: filled({
        limits: filled({
          cpus: given(cpus, String),
          memory: given(memoryMiB, (amount) => `${amount}M`),
        }),
        reservations: count === 0 ? undefined : { generic_resources: [gpus] },
      }),
    }),
  });
}

function gpuCount(request: LaunchRequest): number {
  const count = wholeGpus("swarm", request);
  if (count > 0 && isBundled(request)) {
    throw cannot(
      "give a service the devices that an image with a bundled driver needs",
      "launch it with docker on each node, or build a cell that takes the host's driver (driver mode host)",
    );
  }
  return count;
}

function constraints({ node }: LaunchRequest): readonly string[] {
  return node == null ? [] : [`node.labels.${labelNames.docker(node.key)}==${node.value}`];
}

/** moby/swarmkit, manager/controlapi/common.go, validateAnnotations. */
function serviceName({ name, reference }: LaunchRequest): string {
  if (name === undefined) return dnsName(baseName(reference));
  if (name.length <= 63 && /^[A-Za-z0-9](?:[-_]*[A-Za-z0-9])*$/.test(name)) return name;
  throw cannot(
    `name a service ${JSON.stringify(name)}: names are letters and digits with - and _ between them, at most 63`,
    `use --name ${dnsName(name)}`,
  );
}
