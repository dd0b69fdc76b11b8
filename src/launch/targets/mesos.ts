/**
 * `mesos-execute`: one task. Sources: apache/mesos 1.11, src/cli/execute.cpp (flags), include/mesos/v1/mesos.proto (`Volume`) and
 * docs/gpu-support.md. An image that bundles its driver gets the devices alone: the host's driver is mounted only into images
 * with the label com.nvidia.volumes.needed (isolators/gpu/volume.cpp).
 */

import { byDigest } from "../../oci/immutable-reference.ts";
import { wholeGpus } from "../gpu-needs.ts";
import { shellWords } from "../shell.ts";
import type { LaunchCommand, LaunchRequest, LaunchTarget } from "../target.ts";
import { unsupportedBy } from "../unsupported.ts";
import { baseName } from "../workload-name.ts";

const cannot = unsupportedBy("mesos");

export const mesos: LaunchTarget = {
  name: "mesos",
  description: "mesos-execute, one task on a Mesos cluster",
  gpus: "scheduler",
  formats: ["shell", "json"],
  settings: { master: "host:port of the master (default: leader.mesos:5050, its name in Mesos-DNS)" },
  launch: (request) => ({ form: "command", command: mesosExecute(request) }),
};

function mesosExecute(request: LaunchRequest): LaunchCommand {
  const { reference, env = {}, mounts = [], cpus = 1, memoryMiB = 1024, node, options = [] } = request;
  if (request.task === "service")
    throw cannot("keep a service running: mesos-execute starts one task", "launch it with marathon");
  if (node != null) {
    throw cannot(
      "keep a task to the nodes that the image fits: mesos-execute takes the first offer",
      "add --anywhere if every agent is like this host, or launch it with marathon or chronos, which have constraints",
    );
  }
  const count = wholeGpus("mesos", request);
  const gpus = count === 0 ? "" : `;gpus:${count}`;
  return {
    argv: [
      "mesos-execute",
      `--master=${request.settings?.master ?? "leader.mesos:5050"}`,
      `--name=${request.name ?? baseName(reference)}`,
      `--docker_image=${byDigest(reference)}`,
      // Only the Mesos containerizer isolates GPUs, and it is the default; agents offer GPUs to who says that it knows them.
      ...(count === 0 ? [] : ["--framework_capabilities=GPU_RESOURCES"]),
      `--resources=cpus:${cpus};mem:${memoryMiB}${gpus}`,
      ...(Object.keys(env).length === 0 ? [] : [`--env=${JSON.stringify(env)}`]),
      ...(mounts.length === 0 ? [] : [`--volumes=${JSON.stringify(mounts.map(volume))}`]),
      ...commandOptions(request),
      ...options,
    ],
    env: {},
  };
}

/** Without a shell the image's entrypoint runs, and nothing can be passed to it (execute.cpp: "Treat 'command' as … (TODO)"). */
function commandOptions({ program, args }: LaunchRequest): readonly string[] {
  if (program !== undefined) return [`--command=${shellWords([program, ...args])}`];
  if (args.length === 0) return ["--shell=false"];
  throw cannot(
    "pass arguments to the image's entrypoint",
    "name the program too: --command PROGRAM -- ARGUMENTS",
  );
}

/** `Volume` of mesos.proto. */
function volume({ source, target, readOnly }: { source: string; target: string; readOnly: boolean }) {
  return {
    container_path: target,
    mode: readOnly ? "RO" : "RW",
    source: { type: "HOST_PATH", host_path: { path: source } },
  };
}
