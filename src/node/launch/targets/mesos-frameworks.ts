/**
 * Workloads of Mesos: a task of `mesos-execute`, an app that Marathon keeps running, and a job of Chronos, for images without GPU code.
 * Sources:
 *
 * - apache/mesos 1.11, src/cli/execute.cpp (flags), include/mesos/v1/mesos.proto (`Volume`) and docs/gpu-support.md. An image that
 *   bundles its driver gets only the devices: Mesos mounts the host's driver into images with the label com.nvidia.volumes.needed
 *   (isolators/gpu/volume.cpp).
 * - mesosphere/marathon 1.10, docs/docs/rest-api/public/api/v2/types (app.raml, appContainer.raml, docker.raml, volumes.raml,
 *   constraint.raml), docs/docs/constraints.md, docs/docs/preferential-gpu-scheduling.md (`gpus` needs
 *   `--enable_features gpu_resources`).
 * - mesos/chronos 3.0.2 (the first with containers of type MESOS), utils/JobDeserializer.scala (the fields that it
 *   reads; all else is ignored), scheduler/mesos/MesosTaskBuilder.scala (the effect of the fields) and docs/docs/api.md.
 */

import { byDigest } from "../../../oci/immutable-reference.ts";
import { filled, given } from "../fields.ts";
import { refuseVendor, wholeGpus, type ByVendorWords } from "../gpu-needs.ts";
import { needsGpus } from "../../../lock/requirement.ts";
import { labelNames } from "../labels/vocabulary.ts";
import { shellWords } from "../shell.ts";
import type {
  FleetTarget,
  Json,
  LaunchCommand,
  LaunchRequest,
  LaunchTarget,
  Mount,
  PublishedPort,
} from "../target.ts";
import { unsupported, unsupportedBy } from "../unsupported.ts";
import { baseName, dnsBaseName, dnsName } from "../workload-name.ts";

const mesosCannot = unsupportedBy("mesos");
const marathonCannot = unsupportedBy("marathon");
const chronosCannot = unsupportedBy("chronos");
const whyNot: ByVendorWords = { nvidia: null, amd: "agents of Mesos isolate those of NVIDIA alone" };

export const mesos: LaunchTarget = {
  name: "mesos",
  description: "mesos-execute, one task on a Mesos cluster",
  gpus: "scheduler",
  skipsEntrypoint: true,
  formats: ["shell", "json"],
  noPorts: "mesos-execute has no option for ports",
  settings: { master: "host:port of the master (default: leader.mesos:5050, its name in Mesos-DNS)" },
  launch: (request) => ({ form: "command", command: mesosExecute(request) }),
};

function mesosExecute(request: LaunchRequest): LaunchCommand {
  const { reference, env = {}, mounts = [], cpus = 1, memoryMiB = 1024, node, options = [] } = request;
  if (request.task === "service")
    throw mesosCannot("keep a service running: mesos-execute starts one task", "launch it with marathon");
  if (node != null) {
    throw mesosCannot(
      "keep a task to the nodes that the image fits: mesos-execute takes the first offer",
      "add --anywhere if every agent is like this host, or launch with marathon or chronos, which have constraints",
    );
  }
  refuseVendor(request, mesosCannot, whyNot);
  const count = wholeGpus("mesos", request);
  const gpus = count === 0 ? "" : `;gpus:${count}`;
  return {
    argv: [
      "mesos-execute",
      `--master=${request.settings?.master ?? "leader.mesos:5050"}`,
      `--name=${request.name ?? baseName(reference)}`,
      `--docker_image=${byDigest(reference)}`,
      // The Mesos containerizer, which is the default, isolates GPUs. Agents offer GPUs only to frameworks with this capability.
      ...(count === 0 ? [] : ["--framework_capabilities=GPU_RESOURCES"]),
      `--resources=cpus:${cpus};mem:${memoryMiB}${gpus}`,
      ...(Object.keys(env).length === 0 ? [] : [`--env=${JSON.stringify(env)}`]),
      ...(mounts.length === 0 ? [] : [`--volumes=${JSON.stringify(mounts.map(protoVolume))}`]),
      ...commandOptions(request),
      ...options,
    ],
    env: {},
  };
}

/** Without a shell the image's entrypoint runs, and takes no arguments (execute.cpp: "Treat 'command' as … (TODO)"). */
function commandOptions({ program, args }: LaunchRequest): readonly string[] {
  if (program !== undefined) return [`--command=${shellWords([program, ...args])}`];
  if (args.length === 0) return ["--shell=false"];
  throw mesosCannot(
    "pass arguments to the image's entrypoint",
    "name the program too: --command PROGRAM -- ARGUMENTS",
  );
}

/** `Volume` of mesos.proto. */
function protoVolume({ source, target, readOnly }: Mount): Json {
  return {
    container_path: target,
    mode: readOnly ? "RO" : "RW",
    source: { type: "HOST_PATH", host_path: { path: source } },
  };
}

export const marathon: FleetTarget = {
  name: "marathon",
  description: "an app for Marathon on Mesos",
  gpus: "scheduler",
  labels: "mesos",
  formats: ["json", "yaml"],
  settings: { instances: "how many (default: 1)" },
  launch: (request) => ({ form: "documents", documents: [marathonApp(request)] }),
  fleetNote: () =>
    "Marathon cannot run one task on every such agent: --set instances=N runs N, each on its own agent",
  fleet: (launches) => launches.map((request) => marathonApp(request, [["hostname", "UNIQUE"]])),
};

function marathonApp(request: LaunchRequest, more: readonly Json[] = []): Json {
  const { reference, args, program, env = {}, mounts = [], ports = [], cpus = 1, memoryMiB = 1024 } = request;
  const { name } = request;
  if (request.task === "batch")
    throw marathonCannot("run a batch: it starts again what has ended", "launch it with chronos");
  refuseVendor(request, marathonCannot, whyNot);
  const count = wholeGpus("marathon", request);
  return filled({
    id: appId(name ?? dnsBaseName(reference)),
    instances: instancesOf(request),
    cpus,
    mem: memoryMiB,
    // Only the Mesos containerizer hands out GPUs.
    gpus: count === 0 ? undefined : count,
    container: filled({
      type: "MESOS",
      docker: { image: byDigest(reference) },
      volumes: mounts.map(volume),
    }),
    // UCR containers without a network of their own listen on the agent's ports (docs/ports.md, "Host Networking").
    portDefinitions: ports.map(agentPort),
    requirePorts: ports.length === 0 ? undefined : true,
    // An app has at most one of these. A shell runs `cmd`. The image's entrypoint, or the first word of its command, gets `args`
    // (apache/mesos, isolators/docker/runtime.cpp).
    args: program === undefined ? args : undefined,
    cmd: given(program, (word) => shellWords([word, ...args])),
    env,
    constraints: [...attributeConstraint("marathon", "CLUSTER", request), ...more],
  });
}

function agentPort({ host, container, protocol }: PublishedPort): Json {
  if (host === container) return { port: host, protocol };
  throw marathonCannot(
    `publish ${host}:${container}: the container listens on the agent's own ports`,
    `use --publish ${container}`,
  );
}

/** A path of DNS names (Marathon, state/PathId.scala). */
function appId(name: string): string {
  const parts = name.replace(/^\//, "").split("/");
  const labels = parts.flatMap((part) => part.split("."));
  if (labels.every((label) => /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(label))) return `/${parts.join("/")}`;
  throw marathonCannot(
    `name an app ${JSON.stringify(name)}: the parts of its path are lower case letters, digits, dots and hyphens`,
    `use --name ${parts.map(dnsName).join("/")}`,
  );
}

function instancesOf({ settings }: LaunchRequest): number {
  const text = settings?.instances ?? "1";
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw marathonCannot(`run ${JSON.stringify(text)} instances`, "use --set instances=2");
}

export const chronos: LaunchTarget = {
  name: "chronos",
  description: "a job for Chronos on Mesos, for images without GPU code",
  gpus: "scheduler",
  formats: ["json", "yaml"],
  noPorts: "its jobs have no ports",
  settings: {
    schedule: "ISO 8601 repetition/start/interval (default: R1//PT24H, once and now)",
    retries: "after a failure (default: 2)",
    owner: "address for messages about failures",
  },
  launch: (request) => ({ form: "documents", documents: [chronosJob(request)] }),
};

function chronosJob(request: LaunchRequest): Json {
  const { reference, args, program, env = {}, mounts = [], settings = {} } = request;
  if (request.task === "service")
    throw chronosCannot("keep a service running: its jobs end", "launch it with marathon");
  if (needsGpus(request.requires))
    throw chronosCannot(
      "ask for GPUs: no field of a job has them, and tasks get none",
      "launch it with mesos or marathon, or pick an image without GPU code (--gpus none)",
    );
  if (program !== undefined && /^(http|ftp)/.test(program))
    throw chronosCannot(
      `start ${program}: a command that begins with http or ftp is downloaded`,
      "write its path: --command /usr/bin/PROGRAM",
    );
  return {
    ...filled({
      name: jobName(request),
      schedule: scheduleOf(settings.schedule),
      retries: retriesOf(settings.retries),
      owner: settings.owner,
      cpus: request.cpus ?? 1,
      mem: request.memoryMiB ?? 1024,
      container: filled({ type: "MESOS", image: byDigest(reference), volumes: mounts.map(volume) }),
      shell: false,
      command: program,
    }),
    // Mesos calls execlp(command, arguments…), whose first argument is the program's name (mesos.proto, CommandInfo). Without a command
    // the image's entrypoint gets them all.
    arguments: program === undefined ? args : [program, ...args],
    ...filled({
      environmentVariables: Object.entries(env).map(([name, value]) => variable(name, value)),
      constraints: attributeConstraint("chronos", "EQUALS", request),
    }),
  };
}

/** Chronos sets these itself and ignores a job's values for them (MesosTaskBuilder.scala, envs). */
const chronosVariables = [
  "HOST",
  "mesos_task_id",
  "MESOS_TASK_ID",
  "CHRONOS_JOB_OWNER",
  "CHRONOS_JOB_NAME",
  "CHRONOS_JOB_RUN_TIME",
  "CHRONOS_JOB_RUN_ATTEMPT",
  "CHRONOS_RESOURCE_MEM",
  "CHRONOS_RESOURCE_CPU",
  "CHRONOS_RESOURCE_DISK",
];

function variable(name: string, value: string): Json {
  if (chronosVariables.includes(name))
    throw chronosCannot(`set ${name}: it sets that itself`, "give the variable another name");
  return { name, value };
}

/** `([\w\.-]+)` (api.md, "Adding a Scheduled Job"). Before 3.0 blanks and `#` were allowed too. */
function jobName({ name, reference }: LaunchRequest): string {
  const wanted = name ?? baseName(reference);
  if (/^[\w.-]+$/.test(wanted)) return wanted;
  throw chronosCannot(`name a job ${JSON.stringify(wanted)}`, "use letters, digits and . _ - in --name");
}

function scheduleOf(text = "R1//PT24H"): string {
  if (/^R\d*\/[^/]*\/P[^/]+$/.test(text)) return text;
  throw chronosCannot(
    `read the schedule ${JSON.stringify(text)}`,
    "write it as R/2026-01-01T00:00:00Z/PT24H",
  );
}

function retriesOf(text = "2"): number {
  if (/^\d{1,4}$/.test(text)) return Number(text);
  throw chronosCannot(`retry ${JSON.stringify(text)} times`, "use --set retries=2");
}

/**
 * Leaves the agents whose attribute has this value. Mesos stores a text that reads as a number as a number (apache/mesos,
 * src/common/values.cpp, parse): Marathon then sees 1.10 as 1.1, and Chronos sees no text at all.
 */
function attributeConstraint(target: string, operator: string, { node }: LaunchRequest): readonly Json[] {
  if (node == null) return [];
  const { key, value } = node;
  if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value)) {
    throw unsupported(
      target,
      `tell agents apart by the tag ${value}: Mesos reads it as a number`,
      "give the matrix a tag with a letter in it, or add --anywhere if every agent is like this host",
    );
  }
  return [[labelNames.mesos(key), operator, value]];
}

/** A host folder, in the words of Marathon and Chronos. */
function volume({ source, target, readOnly }: Mount): Json {
  return { containerPath: target, hostPath: source, mode: readOnly ? "RO" : "RW" };
}
