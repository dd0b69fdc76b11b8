/**
 * A job of Chronos on Mesos, for images without GPU code. Sources: mesos/chronos 3.0.2 (the first with containers of type MESOS),
 * utils/JobDeserializer.scala (every field that is read; others are ignored), scheduler/mesos/MesosTaskBuilder.scala (what
 * becomes of them) and docs/docs/api.md.
 */

import { byDigest } from "../../oci/immutable-reference.ts";
import { filled } from "../filled.ts";
import { textAttribute, volume } from "../mesos.ts";
import type { Json, LaunchRequest, LaunchTarget } from "../target.ts";
import { unsupportedBy } from "../unsupported.ts";
import { baseName } from "../workload-name.ts";

const cannot = unsupportedBy("chronos");

export const chronos: LaunchTarget = {
  name: "chronos",
  description: "a job for Chronos on Mesos, for images without GPU code",
  gpus: "scheduler",
  formats: ["json", "yaml"],
  settings: {
    schedule: "ISO 8601 repetition/start/interval (default: R1//PT24H, once and now)",
    retries: "after a failure (default: 2)",
    owner: "address for messages about failures",
  },
  launch: (request) => ({ form: "documents", documents: [chronosJob(request)] }),
};

function chronosJob(request: LaunchRequest): Json {
  const {
    reference,
    args,
    program,
    env = {},
    mounts = [],
    cpus = 1,
    memoryMiB = 1024,
    settings = {},
  } = request;
  if (request.task === "service")
    throw cannot("keep a service running: its jobs end", "launch it with marathon");
  if (request.requires.cuda !== null)
    throw cannot(
      "ask for GPUs: its jobs have no field for them and its tasks get none",
      "launch it with mesos or marathon, or pick an image without GPU code (--gpus none)",
    );
  if (program !== undefined && /^(http|ftp)/.test(program))
    throw cannot(
      `start ${program}: a command that begins with http or ftp is downloaded`,
      "write its path: --command /usr/bin/PROGRAM",
    );
  const made = filled({
    name: jobName(request),
    schedule: scheduleOf(settings.schedule),
    retries: retriesOf(settings.retries),
    owner: settings.owner,
    cpus,
    mem: memoryMiB,
    container: filled({ type: "MESOS", image: byDigest(reference), volumes: mounts.map(volume) }),
    shell: false,
    command: program,
  });
  return {
    ...made,
    // Mesos starts the command as execlp(command, arguments…), the first of which is the program's own name (mesos.proto,
    // CommandInfo). Without a command the image's entrypoint gets them all.
    arguments: program === undefined ? args : [program, ...args],
    ...filled({
      environmentVariables: Object.entries(env).map(([name, value]) => variable(name, value)),
      constraints: constraintsOf(request),
    }),
  };
}

function constraintsOf({ node }: LaunchRequest): readonly Json[] {
  if (node == null) return [];
  const [name, value] = textAttribute("chronos", node);
  return [[name, "EQUALS", value]];
}

/** Chronos sets these itself, and leaves out what a job says of them (MesosTaskBuilder.scala, envs). */
const itsOwn = [
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
  if (itsOwn.includes(name))
    throw cannot(`set ${name}: it sets that itself`, "give the variable another name");
  return { name, value };
}

/** `([\w\.-]+)` (api.md, "Adding a Scheduled Job"; before 3.0 blanks and `#` too). */
function jobName({ name, reference }: LaunchRequest): string {
  const wanted = name ?? baseName(reference);
  if (/^[\w.-]+$/.test(wanted)) return wanted;
  throw cannot(`name a job ${JSON.stringify(wanted)}`, "use letters, digits and . _ - in --name");
}

function scheduleOf(text = "R1//PT24H"): string {
  if (/^R\d*\/[^/]*\/P[^/]+$/.test(text)) return text;
  throw cannot(`read the schedule ${JSON.stringify(text)}`, "write it as R/2026-01-01T00:00:00Z/PT24H");
}

function retriesOf(text = "2"): number {
  if (/^\d{1,4}$/.test(text)) return Number(text);
  throw cannot(`retry ${JSON.stringify(text)} times`, "use --set retries=2");
}
