/**
 * `openstack appcontainer run`. Sources: openstack/python-zunclient 5.5.0, zunclient/osc/v1/containers.py and common/utils.py;
 * openstack/zun, zun/common/utils.py (image names) and zun/scheduler/filters.
 */

import { hasGpuCode } from "../../../hardware/requirement.ts";
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
  settings: {
    image: "tag: pull by the tag alone, as Zun drops the digest (needed)",
    labels: "yes: only nodes whose engine has the label, where Zun's scheduler has its LabelFilter on",
  },
  launch: (request) => ({ form: "command", command: appcontainerRun(request) }),
};

function appcontainerRun(request: LaunchRequest): LaunchCommand {
  const { args, program, name, env = {}, cpus, memoryMiB, options = [] } = request;
  if (hasGpuCode(request.requires)) throw gpusRefused();
  if ((request.mounts ?? []).length > 0)
    throw cannot("mount a folder of the host, only Cinder volumes and single files", "leave --mount out");
  const restart = request.task === "service" ? ["--restart", "unless-stopped"] : [];
  return {
    argv: [
      ...(["openstack", "appcontainer", "run"] as const),
      ...(name === undefined ? [] : ["--name", name]),
      ...restart,
      ...variables(env).flatMap((variable) => ["--environment", variable]),
      ...hints(request),
      ...(cpus === undefined ? [] : ["--cpu", String(cpus)]),
      ...(memoryMiB === undefined ? [] : ["--memory", String(memoryMiB)]),
      // The client splits it as a shell does. Since version 1.40 of the API.
      ...(program === undefined ? [] : ["--entrypoint", shellWord(program)]),
      ...options,
      imageOf(request),
      // The client takes its options, such as -v and --debug, from every place but behind these (cliff, app.py).
      ...(args.some((arg) => arg.startsWith("-")) ? ["--"] : []),
      ...args,
    ],
    env: {},
  };
}

/** Zun reads a reference as name and tag, and asks the registry for the tag; without one it is `latest` (parse_image_name). */
function imageOf({ reference, settings = {} }: LaunchRequest): string {
  const { repository, tag } = referenceParts(reference);
  if (settings.image === "tag" && tag !== null) return `${repository}:${tag}`;
  throw cannot(
    "pull an image by its digest: it drops the digest and pulls the tag",
    "add --set image=tag where nobody else writes to the repository",
  );
}

/** Labels of a node's engine, `dockerd --label`. A scheduler without LabelFilter, which is not on by default, ignores the hint. */
function hints({ node, settings = {} }: LaunchRequest): readonly string[] {
  if (node == null) return [];
  if (settings.labels === "yes") return ["--hint", `label:${labelNames.docker(node.key)}=${node.value}`];
  throw cannot(
    "keep a container to the nodes that the image fits, unless its scheduler has LabelFilter on",
    "add --set labels=yes where it is on, or --anywhere if every compute node is like this host",
  );
}

function gpusRefused() {
  return cannot(
    "hand out GPUs: its API has no field for them, its scheduler does not count them",
    "pick an image without GPU code (--gpus none), or launch on another system",
  );
}

/** The client splits a single one at commas and semicolons, two are taken as they are (common/utils.py, format_args). */
function variables(env: Readonly<Record<string, string>>): readonly string[] {
  const pairs = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const [only] = pairs;
  if (pairs.length === 1 && only !== undefined && /[,;]/.test(only))
    throw cannot(
      `pass ${Object.keys(env)[0]} alone: its client splits a single value at commas and semicolons`,
      "add a second --env, or write the value without them",
    );
  return pairs;
}
