/** A job of Chronos on Mesos. Source: mesos/chronos, docs/docs/api.md ("Job Configuration", "Constraints"); `gpus` since 3.0. */

import { wholeGpus } from "../gpu-needs.ts";
import { baseName, byDigest } from "../image-name.ts";
import { labelNames } from "../node-labels.ts";
import type { Json, LaunchRequest, LaunchTarget } from "../target.ts";
import { unsupported } from "../unsupported.ts";

export const chronos: LaunchTarget = {
  name: "chronos",
  description: "a job for Chronos on Mesos",
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
    throw unsupported("chronos", "keep a service running: its jobs end", "launch it with marathon");
  if (program === undefined)
    throw unsupported(
      "chronos",
      "run the image's own entrypoint: a job has a command",
      "add --command PROGRAM",
    );
  const count = wholeGpus("chronos", request);
  return {
    name: jobName(request),
    schedule: scheduleOf(settings.schedule),
    retries: retriesOf(settings.retries),
    ...(settings.owner === undefined ? {} : { owner: settings.owner }),
    cpus,
    mem: memoryMiB,
    ...(count === 0 ? {} : { gpus: count }),
    // GPUs are isolated by the Mesos containerizer alone; without them it serves as well.
    container: {
      type: "MESOS",
      image: byDigest(reference),
      ...(mounts.length === 0
        ? {}
        : {
            volumes: mounts.map(({ source, target, readOnly }) => ({
              containerPath: target,
              hostPath: source,
              mode: readOnly ? "RO" : "RW",
            })),
          }),
    },
    shell: false,
    command: program,
    arguments: args,
    ...(Object.keys(env).length === 0
      ? {}
      : { environmentVariables: Object.entries(env).map(([name, value]) => ({ name, value })) }),
    ...(request.node == null
      ? {}
      : { constraints: [[labelNames.mesos(request.node.key), "EQUALS", request.node.value]] }),
  };
}

/** `([\w\s\.#_-]+)` (api.md, "Adding a Scheduled Job"). */
function jobName({ name, reference }: LaunchRequest): string {
  const wanted = name ?? baseName(reference);
  if (/^[\w\s.#-]+$/.test(wanted)) return wanted;
  throw unsupported(
    "chronos",
    `name a job ${JSON.stringify(wanted)}`,
    "use letters, digits, blanks and . # _ - in --name",
  );
}

function scheduleOf(text = "R1//PT24H"): string {
  if (/^R\d*\/[^/]*\/P[^/]+$/.test(text)) return text;
  throw unsupported(
    "chronos",
    `read the schedule ${JSON.stringify(text)}`,
    "write it as R/2026-01-01T00:00:00Z/PT24H",
  );
}

function retriesOf(text = "2"): number {
  if (/^\d{1,4}$/.test(text)) return Number(text);
  throw unsupported("chronos", `retry ${JSON.stringify(text)} times`, "use --set retries=2");
}
