/**
 * A service of a Docker swarm. GPUs are generic resources of the nodes. The node's NVIDIA or AMD runtime turns the variable that names
 * them (`DOCKER_RESOURCE_NVIDIA-GPU`) into devices. Sources: docker service create and dockerd references ("generic resources"),
 * Compose file version 3, "deploy"; ROCm/container-toolkit, commit 192fe8e: docs/container-runtime/docker-swarm.md.
 */

import { vendorsOf } from "../../../lock/requirement.ts";
import { type GpuVendor, gpuVendors } from "../../../hardware/gpu-vendors.ts";
import { assignments, filled, flag, flags, given } from "../fields.ts";
import { refuseBundled, wholeGpus } from "../gpu-needs.ts";
import { labelNames } from "../labels/vocabulary.ts";
import { shellWord } from "../shell.ts";
import type { FleetTarget, Json, LaunchCommand, LaunchRequest, PublishedPort } from "../target.ts";
import { unsupportedBy } from "../unsupported.ts";
import { dnsBaseName, dnsName } from "../workload-name.ts";
import { serviceFields } from "./compose.ts";
import { mountOptions } from "./docker-run.ts";

/** The names in Docker's and AMD's examples: `dockerd --node-generic-resource "NVIDIA-GPU=GPU-…"`. */
const resourceKinds: Readonly<Record<GpuVendor, string>> = { nvidia: "NVIDIA-GPU", amd: "AMD_GPU" };

function resourceKind({ requires }: LaunchRequest): string {
  const [vendor = gpuVendors[0]] = vendorsOf(requires);
  return resourceKinds[vendor];
}

const cannot = unsupportedBy("swarm");

export const swarm: FleetTarget = {
  name: "swarm",
  description: "docker service create, or a stack file, for a Docker swarm",
  gpus: "scheduler",
  labels: "docker",
  formats: ["shell", "yaml", "json"],
  launch: (request, format) =>
    format === "yaml"
      ? { form: "documents", documents: [stackFile([request])] }
      : { form: "command", command: serviceCreate(request) },
  // A global service runs one task on every node that the constraints leave.
  fleet: (launches) => [stackFile(launches, "global")],
};

function serviceCreate(request: LaunchRequest): LaunchCommand {
  const { reference, args, program, env = {}, mounts = [], cpus, memoryMiB, options = [] } = request;
  const { task = "batch", ports = [] } = request;
  const count = gpuCount(request);
  return {
    argv: [
      ...(["docker", "service", "create"] as const),
      ...["--name", serviceName(request), "--detach"],
      // A job runs to its end and is not started again (docker service create, "Running as a job").
      ...(task === "batch"
        ? ["--mode", "replicated-job", "--restart-condition", "none"]
        : ["--mode", "replicated"]),
      ...(count === 0 ? [] : ["--generic-resource", `${resourceKind(request)}=${count}`]),
      ...flags("--constraint", constraints(request)),
      ...flags("--env", assignments(env)),
      ...mountOptions(mounts),
      ...flags(
        "--publish",
        ports.map((port) => {
          const { published, target, protocol, mode } = hostPort(port);
          return `published=${published},target=${target},protocol=${protocol},mode=${mode}`;
        }),
      ),
      ...flag("--limit-cpu", cpus),
      ...flag("--limit-memory", memoryMiB, "m"),
      // Docker splits the value as a shell does (docker/cli, ShlexOpt).
      ...flag("--entrypoint", given(program, shellWord)),
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
    // docker stack reads files of version 3. discrete_resource_spec came with 3.5.
    version: "3.9",
    services: Object.fromEntries(
      requests.map((request) => [serviceName(request), stackService(request, spread)]),
    ),
    networks: requests.some((request) => gpuCount(request) > 0) ? bridgeNetwork : undefined,
  });
}

/**
 * The nodes' own network. By default a stack creates an overlay network. Joining it changes the node, and a changed node loses every task
 * with generic resources: "assigned node no longer meets constraints" (swarmkit, constraintenforcer). docker service create creates none.
 */
const bridgeNetwork = { default: { external: true, name: "bridge" } } as const;

function stackService(request: LaunchRequest, spread: "replicated" | "global"): Json {
  const { reference, cpus, memoryMiB, task = "batch" } = request;
  const batch = task === "batch";
  const count = gpuCount(request);
  const gpus = { discrete_resource_spec: { kind: resourceKind(request), value: count } };
  return filled({
    image: reference,
    ...serviceFields(request),
    ports: (request.ports ?? []).map(hostPort),
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

/**
 * On the node that runs the task. The default, the routing mesh, joins each node to the network "ingress", and a node whose networks change
 * loses every task with generic resources, as above.
 */
function hostPort({ host, container, protocol }: PublishedPort) {
  return { target: container, published: host, protocol, mode: "host" } as const;
}

function gpuCount(request: LaunchRequest): number {
  const count = wholeGpus("swarm", request);
  if (count > 0)
    refuseBundled(request, cannot, "give a service the devices that an image with a bundled driver needs");
  return count;
}

function constraints({ node }: LaunchRequest): readonly string[] {
  return node == null ? [] : [`node.labels.${labelNames.docker(node.key)}==${node.value}`];
}

/** moby/swarmkit, manager/controlapi/common.go, validateAnnotations. */
function serviceName({ name, reference }: LaunchRequest): string {
  if (name === undefined) return dnsBaseName(reference);
  if (name.length <= 63 && /^[A-Za-z0-9](?:[-_]*[A-Za-z0-9])*$/.test(name)) return name;
  throw cannot(
    `name a service ${JSON.stringify(name)}: names are letters and digits with - and _ between them, at most 63`,
    `use --name ${dnsName(name)}`,
  );
}
