/**
 * `openstack appcontainer run`. Sources: openstack/python-zunclient 5.5.0, zunclient/osc/v1/containers.py and common/utils.py;
 * openstack/zun, zun/common/utils.py (image names) and zun/scheduler/filters.
 */

import { needsGpus } from "../../../lock/requirement.ts";
import { assignments, flag, flags, given } from "../fields.ts";
import { referenceParts } from "../../../oci/immutable-reference.ts";
import { labelNames } from "../labels/vocabulary.ts";
import { shellWord } from "../shell.ts";
import type { LaunchCommand, LaunchRequest, LaunchTarget } from "../target.ts";
import { unsupportedBy } from "../unsupported.ts";

const cannot = unsupportedBy("zun");

export const zun: LaunchTarget = {
  name: "zun",
  description: "openstack appcontainer run, for images without GPU code",
  gpus: "scheduler",
  formats: ["shell", "json"],
  noPorts: "a container of Zun has its own address, and all its ports are there",
  settings: {
    image: "tag: pull by the tag alone, as Zun drops the digest (needed)",
    labels: "yes: only nodes whose engine has the label, where Zun's scheduler has its LabelFilter on",
  },
  launch: (request) => ({ form: "command", command: appcontainerRun(request) }),
};

function appcontainerRun(request: LaunchRequest): LaunchCommand {
  const { args, program, name, env = {}, cpus, memoryMiB, options = [] } = request;
  if (needsGpus(request.requires))
    throw cannot(
      "hand out GPUs: Zun's API has no field for GPUs, and its scheduler does not count GPUs",
      "pick an image without GPU code (--gpus none), or launch on another system",
    );
  if ((request.mounts ?? []).length > 0)
    throw cannot("mount a folder of the host, only Cinder volumes and single files", "leave --mount out");
  return {
    argv: [
      ...(["openstack", "appcontainer", "run"] as const),
      ...flag("--name", name),
      ...(request.task === "service" ? ["--restart", "unless-stopped"] : []),
      ...flags("--environment", variables(env)),
      ...hints(request),
      ...flag("--cpu", cpus),
      ...flag("--memory", memoryMiB),
      // The client splits the value as a shell does. The API knows it since version 1.40.
      ...flag("--entrypoint", given(program, shellWord)),
      ...options,
      imageOf(request),
      // Before `--` the client reads options such as -v and --debug anywhere in the line (cliff, app.py).
      ...(args.some((arg) => arg.startsWith("-")) ? ["--"] : []),
      ...args,
    ],
    env: {},
  };
}

/** Zun reads a reference as name and tag, by default `latest`, and drops a digest (parse_image_name). */
function imageOf({ reference, settings = {} }: LaunchRequest): string {
  const { repository, tag } = referenceParts(reference);
  if (settings.image === "tag" && tag !== null) return `${repository}:${tag}`;
  throw cannot(
    "pull an image by its digest: it drops the digest and pulls the tag",
    "add --set image=tag where nobody else writes to the repository",
  );
}

/** Hints name labels of a node's engine (`dockerd --label`). Only a scheduler with LabelFilter, which is off by default, obeys them. */
function hints({ node, settings = {} }: LaunchRequest): readonly string[] {
  if (node == null) return [];
  if (settings.labels === "yes") return ["--hint", `label:${labelNames.docker(node.key)}=${node.value}`];
  throw cannot(
    "keep a container to the nodes that the image fits, unless its scheduler has LabelFilter on",
    "add --set labels=yes where it is on, or --anywhere if every compute node is like this host",
  );
}

/** The client splits a single variable at commas and semicolons, and never two of them (common/utils.py, format_args). */
function variables(env: Readonly<Record<string, string>>): readonly string[] {
  const pairs = assignments(env);
  const [only] = pairs;
  if (pairs.length === 1 && only !== undefined && /[,;]/.test(only))
    throw cannot(
      `pass ${Object.keys(env)[0]} alone: its client splits a single value at commas and semicolons`,
      "add a second --env, or write the value without them",
    );
  return pairs;
}
