/**
 * A job of Nomad in the form of its API, for `nomad job run -json FILE`. Sources: hashicorp/nomad, api/jobs.go, api/tasks.go,
 * api/resources.go and api/constraint.go (names of fields; tried with 1.10.0), drivers/docker/config.go (`Config`),
 * scheduler/feasible.go (operands, `${device.attr…}`); hashicorp/nomad-device-nvidia 1.1.0, fingerprint.go (attributes).
 * `Datacenters: ["*"]` and `nomad node meta apply` came with 1.5.
 */

import { byDigest } from "../../../oci/immutable-reference.ts";
import type { LabelTerm, Term } from "../fleet/split-nodes.ts";
import { baseName, dnsName, filled, given } from "../workload-name.ts";
import { neededUnits, refuseAmd } from "../gpu-needs.ts";
import { keys, labelNames } from "../labels/vocabulary.ts";
import type { FleetLaunch, FleetTarget, Json, LaunchRequest, Mount } from "../target.ts";
import { unsupportedBy } from "../unsupported.ts";

const cannot = unsupportedBy("nomad");

export const nomad: FleetTarget = {
  name: "nomad",
  description: "a Nomad job, for nomad job run -json",
  gpus: "scheduler",
  formats: ["json", "yaml"],
  settings: { datacenters: "comma separated (default: *)" },
  launch: (request) => ({ form: "documents", documents: [{ Job: nomadJob(request) }] }),
  fleetNote: (documents) =>
    JSON.stringify(documents).includes(`meta.${labelNames.nomad(keys.vocabulary)}`)
      ? "one group per alternative of an image, constrained by the words of imgmatch labels --format nomad"
      : `alternatives would take more than ${mostGroups} groups, so the groups ask for what a node says that resolve picks there: set its metadata again when the lock changes`,
  fleet: (launches, name) => [{ Job: fleetJob(launches, name) }],
};

interface NomadConstraint {
  readonly [key: string]: string;
  readonly LTarget: string;
  readonly Operand: string;
  readonly RTarget: string;
}

/** Nomad evaluates every group on every node, and a person has to read them. */
const mostGroups = 200;

/**
 * A system job runs each group on every node that its constraints leave. Constraints know no alternatives, groups do: two of
 * one image must then never hold on one node, or it would run there twice.
 */
function fleetJob(launches: readonly FleetLaunch[], name: string): Json {
  const split = splitGroups(launches);
  const groups =
    split ?? launches.map(({ request }) => ({ request, index: 0, constraints: constraintsOf(request) }));
  const [first] = launches;
  if (first === undefined) throw cannot("write a job without groups", "build images first");
  const type = first.request.task === "batch" ? "sysbatch" : "system";
  return job(
    { ...first.request, name },
    type,
    groups.map(({ request, index, constraints }) => {
      const label = `${request.name ?? "main"}${index === 0 ? "" : `-${index + 1}`}`;
      return taskGroup(request, label, constraints, false);
    }),
  );
}

/** null when it takes too many groups. */
function splitGroups(launches: readonly FleetLaunch[]) {
  let left = mostGroups;
  const groups = launches.map(({ request, member }) => {
    const terms = member.disjointTerms(Math.max(left, 0));
    left -= terms?.length ?? mostGroups + 1;
    return (terms ?? []).map((term, index) => ({ request, index, constraints: nodeConstraints(term) }));
  });
  return left < 0 ? null : groups.flat();
}

function nomadJob(request: LaunchRequest): Json {
  const type = (request.task ?? "batch") === "batch" ? "batch" : "service";
  return job(request, type, [taskGroup(request, "main", constraintsOf(request))]);
}

function job(request: LaunchRequest, type: string, groups: readonly Json[]): Json {
  const name = request.name ?? dnsName(baseName(request.reference));
  return {
    ID: name,
    Name: name,
    Type: type,
    Datacenters: (request.settings?.datacenters ?? "*").split(","),
    TaskGroups: groups,
  };
}

function taskGroup(
  request: LaunchRequest,
  name: string,
  constraints: readonly NomadConstraint[],
  policies = true,
): Json {
  const batch = (request.task ?? "batch") === "batch";
  return {
    ...filled({ Name: name, Count: 1, Constraints: constraints }),
    // A batch that fails is not tried again by itself.
    // System jobs have no rescheduling.
    ...(batch && policies
      ? { RestartPolicy: { Attempts: 0, Mode: "fail" }, ReschedulePolicy: { Attempts: 0, Unlimited: false } }
      : {}),
    Tasks: [task(request)],
  };
}

function task(request: LaunchRequest): Json {
  const { reference, args, program, env = {}, mounts = [], cpus, memoryMiB } = request;
  return {
    ...filled({
      Name: "main",
      Driver: "docker",
      Config: filled({
        image: byDigest(reference),
        entrypoint: given(program, (word) => [template(word)]),
        args: args.map(template),
        mount: mounts.map(boundFolder),
      }),
      Env: Object.fromEntries(Object.entries(env).map(([key, value]) => [key, literal(value)])),
    }),
    Resources: filled({
      Cores: given(cpus, wholeCores),
      MemoryMB: memoryMiB,
      Devices: devices(request),
    }),
  };
}

function boundFolder({ source, target, readOnly }: Mount): Json {
  return { type: "bind", source: template(source), target: template(target), readonly: readOnly };
}

/** A share of a core is counted in MHz, which differ from node to node. */
function wholeCores(cpus: number): number {
  if (Number.isInteger(cpus)) return cpus;
  throw cannot(`hand out ${cpus} CPUs, only whole cores`, `use --cpus ${Math.ceil(cpus)}`);
}

/** The plugin fingerprints MIG instances as GPUs of their own. Of what an image needs it tells the driver's version alone. */
function devices(request: LaunchRequest): readonly Json[] {
  refuseAmd(request, cannot, "nobody publishes a device plugin for them");
  const count = neededUnits(request).length;
  const driver = request.requires.cuda?.driver;
  if (count === 0 || driver === undefined) return [];
  if (driver.mode === "bundled") {
    // The plugin sets NVIDIA_VISIBLE_DEVICES and the Docker driver then takes the NVIDIA runtime (drivers/docker/driver.go).
    throw cannot(
      "run an image that bundles its driver: its GPUs come with the host's driver",
      "launch it with docker on each node, or build a cell that takes the host's driver (driver mode host)",
    );
  }
  const constraints =
    driver.mode !== "host"
      ? []
      : // biome-ignore lint/suspicious/noTemplateCurlyInString: Nomad's own interpolation
        [{ LTarget: "${device.attr.driver_version}", Operand: "version", RTarget: `>= ${driver.minimum}` }];
  return [filled({ Name: "nvidia/gpu", Count: count, Constraints: constraints })];
}

/** `!=` holds for absent metadata too; `>=` and `<` compare whole numbers as such since 1.4.0 (checkConstraint, checkOrder). */
const operands = {
  Exists: "is_set",
  DoesNotExist: "is_not_set",
  In: "=",
  NotIn: "!=",
  AtLeast: ">=",
  Below: "<",
} as const satisfies Record<LabelTerm["operator"], string>;

/** All of these hold. */
export function nodeConstraints(term: Term): readonly NomadConstraint[] {
  return term.flatMap(({ key, operator, values }): readonly NomadConstraint[] => {
    const LTarget = metaOf(key);
    if (operator === "In" && values.length > 1)
      return [{ LTarget, Operand: "set_contains_any", RTarget: values.join(",") }];
    const each = values.length === 0 ? [""] : values;
    return each.map((RTarget) => ({ LTarget, Operand: operands[operator], RTarget }));
  });
}

function metaOf(key: string): string {
  return `\${meta.${labelNames.nomad(key)}}`;
}

function constraintsOf({ node }: LaunchRequest): readonly NomadConstraint[] {
  return node == null ? [] : [{ LTarget: metaOf(node.key), Operand: "=", RTarget: node.value }];
}

/** Texts of `Config` are templates of HCL, in which `${` and `%{` are doubled to mean themselves (HCL, "JSON Syntax Specification"). */
function template(text: string): string {
  return text.replace(/[$%](?=\{)/g, "$&$&");
}

/** Variables are no templates: the client replaces `${NAME}` in them, and nothing escapes it (client/taskenv, ReplaceEnv). */
function literal(text: string): string {
  if (!/\$\{[A-Za-z0-9_.-]+\}/.test(text)) return text;
  throw cannot(
    `pass on the text ${JSON.stringify(text)}: it would put a variable's value in its place`,
    "write it without a dollar before the brace",
  );
}
