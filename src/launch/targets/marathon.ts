/**
 * An app of Marathon: what keeps running on Mesos. Sources: mesosphere/marathon 1.10, docs/docs/rest-api/public/api/v2/types
 * (app.raml, appContainer.raml, docker.raml, volumes.raml, constraint.raml), docs/docs/constraints.md,
 * docs/docs/preferential-gpu-scheduling.md (`gpus` needs `--enable_features gpu_resources`).
 */

import { byDigest } from "../../oci/immutable-reference.ts";
import { filled, given } from "../filled.ts";
import { wholeGpus } from "../gpu-needs.ts";
import { textAttribute, volume } from "../mesos.ts";
import { shellWords } from "../shell.ts";
import type { FleetTarget, Json, LaunchRequest } from "../target.ts";
import { unsupportedBy } from "../unsupported.ts";
import { baseName, dnsName } from "../workload-name.ts";

const cannot = unsupportedBy("marathon");

export const marathon: FleetTarget = {
  name: "marathon",
  description: "an app for Marathon on Mesos",
  gpus: "scheduler",
  formats: ["json", "yaml"],
  settings: { instances: "how many (default: 1)" },
  launch: (request) => ({ form: "documents", documents: [marathonApp(request)] }),
  fleetNote: () =>
    "Marathon's constraints know neither alternatives nor numbers, so they ask for what an agent says that resolve picks there; it cannot run one task on every such agent: --set instances says how many, each on its own",
  fleet: (launches) => launches.map(({ request }) => marathonApp(request, [["hostname", "UNIQUE"]])),
};

function marathonApp(request: LaunchRequest, more: readonly Json[] = []): Json {
  const { reference, args, program, env = {}, mounts = [], cpus = 1, memoryMiB = 1024, name } = request;
  if (request.task === "batch")
    throw cannot("run a batch: it starts again what has ended", "launch it with chronos");
  const count = wholeGpus("marathon", request);
  return filled({
    id: appId(name ?? dnsName(baseName(reference))),
    instances: instancesOf(request),
    cpus,
    mem: memoryMiB,
    // A whole number, and only the Mesos containerizer hands them out.
    gpus: count === 0 ? undefined : count,
    container: filled({
      type: "MESOS",
      docker: { image: byDigest(reference) },
      volumes: mounts.map(volume),
    }),
    // `cmd` goes to a shell, `args` to the image's entrypoint, or else to the first word of its command (apache/mesos,
    // isolators/docker/runtime.cpp); an app has one of them or none.
    args: program === undefined ? args : undefined,
    cmd: given(program, (word) => shellWords([word, ...args])),
    env,
    constraints: constraintsOf(request, more),
  });
}

/** A path: its parts are names of DNS (Marathon, state/PathId.scala). */
function appId(name: string): string {
  const parts = name.replace(/^\//, "").split("/");
  const labels = parts.flatMap((part) => part.split("."));
  if (labels.every((label) => /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(label))) return `/${parts.join("/")}`;
  throw cannot(
    `name an app ${JSON.stringify(name)}: the parts of its path are lower case letters, digits, dots and hyphens`,
    `use --name ${parts.map(dnsName).join("/")}`,
  );
}

function instancesOf({ settings }: LaunchRequest): number {
  const text = settings?.instances ?? "1";
  if (/^[1-9]\d{0,4}$/.test(text)) return Number(text);
  throw cannot(`run ${JSON.stringify(text)} instances`, "use --set instances=2");
}

/** CLUSTER with a value: only agents whose attribute is exactly this. An agent without the attribute is refused. */
function constraintsOf({ node }: LaunchRequest, more: readonly Json[]): readonly Json[] {
  if (node == null) return more;
  const [name, value] = textAttribute("marathon", node);
  return [[name, "CLUSTER", value], ...more];
}
