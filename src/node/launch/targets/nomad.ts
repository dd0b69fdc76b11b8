/**
 * A job of Nomad in the form of its API, for `nomad job run -json FILE`. Sources: hashicorp/nomad, api/jobs.go, api/tasks.go,
 * api/resources.go and api/constraint.go (names of fields; tried with 1.10.0), drivers/docker/config.go (`Config`),
 * scheduler/feasible.go (operands, `${device.attr…}`); hashicorp/nomad-device-nvidia 1.1.0, fingerprint.go (attributes).
 * `Datacenters: ["*"]` and `nomad node meta apply` came with 1.5.
 */

import { answerOfSide, type BySide, sidesOf } from "../../../lock/requirement.ts";
import { byDigest } from "../../../oci/immutable-reference.ts";
import { filled, given } from "../fields.ts";
import { neededUnits, refuseBundled, refuseVendor, wholeCpus, type ByVendorWords } from "../gpu-needs.ts";
import { labelNames } from "../labels/vocabulary.ts";
import type { FleetTarget, Json, LaunchRequest, Mount, PublishedPort } from "../target.ts";
import { unsupportedBy } from "../unsupported.ts";
import { dnsBaseName } from "../workload-name.ts";

const cannot = unsupportedBy("nomad");

export const nomad: FleetTarget = {
  name: "nomad",
  description: "a Nomad job, for nomad job run -json",
  gpus: "scheduler",
  labels: "nomad",
  formats: ["json", "yaml"],
  settings: { datacenters: "comma separated (default: *)" },
  launch: (request) => ({ form: "documents", documents: [{ Job: nomadJob(request) }] }),
  fleet: (launches, name) => [{ Job: fleetJob(launches, name) }],
};

/** A system job runs each group on every node that the group's constraints leave. */
function fleetJob(launches: readonly LaunchRequest[], name: string): Json {
  const [first] = launches;
  if (first === undefined) throw cannot("write a job without groups", "build images first");
  const type = first.task === "batch" ? "sysbatch" : "system";
  const groups = launches.map((request) => taskGroup(request, request.name ?? "main", false));
  return job({ ...first, name }, type, groups);
}

function nomadJob(request: LaunchRequest): Json {
  return job(request, request.task ?? "batch", [taskGroup(request, "main")]);
}

function job(request: LaunchRequest, type: string, groups: readonly Json[]): Json {
  const name = request.name ?? dnsBaseName(request.reference);
  return {
    ID: name,
    Name: name,
    Type: type,
    Datacenters: (request.settings?.datacenters ?? "*").split(","),
    TaskGroups: groups,
  };
}

function taskGroup(request: LaunchRequest, name: string, policies = true): Json {
  const { task = "batch", ports = [] } = request;
  return {
    ...filled({
      Name: name,
      Count: 1,
      Constraints: constraintsOf(request),
      // The Docker driver leads them into the container (api/resources.go, Port; drivers/docker/config.go, `ports`).
      Networks: ports.length === 0 ? [] : [{ ReservedPorts: ports.map(reservedPort) }],
    }),
    // Nomad does not retry a failed batch. System jobs have no rescheduling.
    ...(task === "batch" && policies
      ? { RestartPolicy: { Attempts: 0, Mode: "fail" }, ReschedulePolicy: { Attempts: 0, Unlimited: false } }
      : {}),
    Tasks: [containerTask(request)],
  };
}

function containerTask(request: LaunchRequest): Json {
  const { reference, args, program, env = {}, mounts = [], ports = [], cpus, memoryMiB } = request;
  return {
    ...filled({
      Name: "main",
      Driver: "docker",
      Config: filled({
        image: byDigest(reference),
        entrypoint: given(program, (word) => [template(word)]),
        args: args.map(template),
        mount: mounts.map(boundFolder),
        ports: ports.map(portLabel),
      }),
      Env: Object.fromEntries(Object.entries(env).map(([key, value]) => [key, literal(value)])),
    }),
    Resources: filled({
      // A share of a core is counted in MHz, which differ from node to node.
      Cores: given(cpus, (count) => wholeCpus("nomad", count)),
      MemoryMB: memoryMiB,
      Devices: devices(request),
    }),
  };
}

function reservedPort(port: PublishedPort): Json {
  return { Label: portLabel(port), Value: port.host, To: port.container };
}

/** Nomad has TCP and UDP under each port. */
function portLabel({ host }: PublishedPort): string {
  return `port${host}`;
}

function boundFolder({ source, target, readOnly }: Mount): Json {
  return { type: "bind", source: template(source), target: template(target), readonly: readOnly };
}

const whyNot: ByVendorWords = { nvidia: null, amd: "nobody publishes a device plugin for them" };

/** The drivers that an image takes. Of an image's needs the device plugin can compare only the driver's version. */
const driverRanges: BySide<string | null> = {
  nvidia: ({ driver }) => (driver.mode === "host" ? `>= ${driver.minimum}` : null),
  amd: () => null,
};

/** The device plugin lists MIG instances as GPUs. */
function devices(request: LaunchRequest): readonly Json[] {
  refuseVendor(request, cannot, whyNot);
  const count = neededUnits(request).length;
  const [side] = sidesOf(request.requires);
  if (side === undefined) return [];
  // The plugin sets NVIDIA_VISIBLE_DEVICES, so the Docker driver takes the NVIDIA runtime (drivers/docker/driver.go).
  refuseBundled(
    request,
    cannot,
    "run an image that bundles its driver: its GPUs come with the host's driver",
  );
  const range = answerOfSide(driverRanges, side);
  const constraints =
    range === null ? [] : [{ LTarget: "${device.attr.driver_version}", Operand: "version", RTarget: range }];
  return [filled({ Name: `${side.vendor}/gpu`, Count: count, Constraints: constraints })];
}

function constraintsOf({ node }: LaunchRequest): readonly Json[] {
  return node == null
    ? []
    : [{ LTarget: `\${meta.${labelNames.nomad(node.key)}}`, Operand: "=", RTarget: node.value }];
}

/** Texts of `Config` are HCL templates, in which `$${` and `%%{` stand for `${` and `%{` (HCL, "JSON Syntax Specification"). */
function template(text: string): string {
  return text.replace(/[$%](?=\{)/g, "$&$&");
}

/** Variables are no templates. The client replaces `${NAME}` in them, and no escape prevents it (client/taskenv, ReplaceEnv). */
function literal(text: string): string {
  if (!/\$\{[A-Za-z0-9_.-]+\}/.test(text)) return text;
  throw cannot(
    `pass on the text ${JSON.stringify(text)}: it would put a variable's value in its place`,
    "write it without a dollar before the brace",
  );
}
