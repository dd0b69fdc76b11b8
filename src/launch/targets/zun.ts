/** `openstack appcontainer run`. Source: openstack/python-zunclient, zunclient/osc/v1/containers.py and common/utils.py. */

import type { LaunchCommand, LaunchRequest, LaunchTarget } from "../target.ts";
import { unsupported } from "../unsupported.ts";

export const zun: LaunchTarget = {
  name: "zun",
  description: "openstack appcontainer run, for images without GPU code",
  gpus: "scheduler",
  formats: ["shell", "json"],
  launch: (request) => ({ form: "command", command: appcontainerRun(request) }),
};

function appcontainerRun(request: LaunchRequest): LaunchCommand {
  const { reference, args, program, name, env = {}, cpus, memoryMiB, node, options = [] } = request;
  if (request.requires.cuda !== null) throw gpusRefused();
  if (program !== undefined)
    throw unsupported(
      "zun",
      "replace the image's entrypoint: what is given goes to it",
      "leave --command out",
    );
  if ((request.mounts ?? []).length > 0)
    throw unsupported("zun", "mount a folder of the host, only Cinder volumes", "leave --mount out");
  if (node != null) {
    throw unsupported(
      "zun",
      "keep a container to the nodes that the image fits",
      "add --anywhere if every compute node is like this host, or --option --availability-zone=… beside it",
    );
  }
  const restart = request.task === "service" ? ["--restart", "unless-stopped"] : [];
  const variables = Object.entries(env).flatMap(([key, value]) => ["--environment", variable(key, value)]);
  return {
    argv: [
      ...(["openstack", "appcontainer", "run"] as const),
      ...(name === undefined ? [] : ["--name", name]),
      ...restart,
      ...variables,
      ...(cpus === undefined ? [] : ["--cpu", String(cpus)]),
      ...(memoryMiB === undefined ? [] : ["--memory", String(memoryMiB)]),
      ...options,
      reference,
      ...args,
    ],
    env: {},
  };
}

function gpusRefused() {
  return unsupported(
    "zun",
    "hand out GPUs: its API has no field for them, its scheduler does not count them",
    "pick an image without GPU code (--gpus none), or launch on another system",
  );
}

/** The client splits at commas and semicolons (common/utils.py, format_args). */
function variable(name: string, value: string): string {
  if (/[,;]/.test(value))
    throw unsupported(
      "zun",
      `pass the variable ${name}: its client splits values at commas and semicolons`,
      "write the value without them",
    );
  return `${name}=${value}`;
}
