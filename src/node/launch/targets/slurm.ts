/**
 * `sbatch` with one `srun` inside and the pyxis plugin. Sources: Slurm, sbatch and srun manual pages and gres.html (tried
 * with 22.05); NVIDIA/pyxis, args.c (`--container-*`; `--container-env` came with 0.15.0; tried with 0.24.0); NVIDIA/enroot,
 * src/docker.sh (image URIs; tried with 4.1.2).
 *
 * An image that bundles its driver needs nothing more: enroot mounts the host's `/dev`, and its NVIDIA hook (98-nvidia.sh) leaves an image with
 * `NVIDIA_VISIBLE_DEVICES=void` alone. AMD GPUs, which Slurm finds with `AutoDetect=rsmi`, need no hook (ROCm/container-toolkit, commit
 * 192fe8e: docs/container-runtime/enroot-pyxis-installation.md).
 */

import type { ImmutableReference } from "../../../oci/immutable-reference.ts";
import { parseImageReference } from "../../../oci/reference.ts";
import { neededUnits, wholeCpus } from "../gpu-needs.ts";
import { labelNames } from "../labels/vocabulary.ts";
import { shellLine } from "../shell.ts";
import type { LaunchCommand, LaunchRequest, LaunchTarget, Mount } from "../target.ts";
import { unsupportedBy } from "../unsupported.ts";
import { baseName } from "../workload-name.ts";

const cannot = unsupportedBy("slurm");

export const slurm: LaunchTarget = {
  name: "slurm",
  description: "sbatch with srun and the pyxis plugin, or srun alone with --set submit=srun",
  gpus: "scheduler",
  skipsEntrypoint: true,
  formats: ["shell", "json"],
  noPorts: "the container uses the node's network, and its ports are open there",
  settings: {
    submit: "sbatch (default) or srun",
    partition: "where to queue",
    entrypoint: 'yes: run the image\'s entrypoint before the command, for one that ends with exec "$@"',
  },
  launch: (request) => ({ form: "command", command: submit(request) }),
};

function submit(request: LaunchRequest): LaunchCommand {
  if (request.task === "service")
    throw cannot("keep a service running: its jobs end", "launch it on another system");
  const { settings = {}, env = {}, cpus, options = [] } = request;
  const how = settings.submit ?? "sbatch";
  const resources = [...jobOptions(request), ...options];
  const container = containerOptions(request);
  const program = programOf(request);
  if (how === "srun") return { argv: ["srun", ...resources, ...container, ...program], env: { ...env } };
  if (how !== "sbatch") throw cannot(`submit with ${how}`, "use --set submit=sbatch or srun");
  // From 22.05 to 23.02 a step does not inherit this option from its job (Slurm, CHANGELOG of 22.05 and 23.11).
  const line = shellLine({ argv: ["srun", ...cpusOption(cpus), ...container, ...program], env });
  return { argv: ["sbatch", ...resources, `--wrap=${line}`], env: {} };
}

function jobOptions(request: LaunchRequest): readonly string[] {
  const { name, reference, cpus, memoryMiB, node, settings = {} } = request;
  const count = neededUnits(request).length;
  return [
    `--job-name=${name ?? baseName(reference)}`,
    "--ntasks=1",
    ...(settings.partition === undefined ? [] : [`--partition=${settings.partition}`]),
    ...(count === 0 ? [] : [`--gres=gpu:${count}`]),
    ...cpusOption(cpus),
    ...(memoryMiB === undefined ? [] : [`--mem=${memoryMiB}M`]),
    ...(node == null ? [] : [`--constraint=${labelNames.slurm(node.key, node.value)}`]),
  ];
}

function cpusOption(cpus: number | undefined): readonly string[] {
  return cpus === undefined ? [] : [`--cpus-per-task=${wholeCpus("slurm", cpus)}`];
}

function containerOptions({
  reference,
  settings = {},
  env = {},
  mounts = [],
}: LaunchRequest): readonly string[] {
  const names = Object.keys(env);
  for (const [name, value] of Object.entries(env)) {
    if (/[\r\n]/.test(value))
      throw cannot(
        `pass a value of several lines in ${name}: enroot would read a variable from each`,
        "mount a file instead",
      );
    // The variables are set for srun, and the task inherits them.
    if (name === "PATH")
      throw cannot(
        "set PATH: srun itself would be looked for there",
        "set it in the container: env PATH=… PROGRAM as the command",
      );
  }
  return [
    `--container-image=${enrootUri(reference)}`,
    settings.entrypoint === "yes" ? "--container-entrypoint" : "--no-container-entrypoint",
    ...(mounts.length === 0 ? [] : [`--container-mounts=${mounts.map(mountOption).join(",")}`]),
    // The image's variables win over the job's, unless they are named here (pyxis, args.c).
    ...(names.length === 0 ? [] : [`--container-env=${names.join(",")}`]),
  ];
}

/**
 * The task starts beside the entrypoint: pyxis runs the entrypoint once, with a shell of its own as the arguments
 * (pyxis_slurmstepd.c, enroot_container_start). An entrypoint that is itself the program never gets the task's arguments.
 */
function programOf({ program, args, settings = {} }: LaunchRequest): readonly string[] {
  const entrypoint = settings.entrypoint ?? "no";
  if (!/^(yes|no)$/.test(entrypoint)) throw cannot(`read --set entrypoint=${entrypoint}`, "use yes or no");
  const line = program === undefined ? args : [program, ...args];
  if (program === undefined && entrypoint === "no")
    throw cannot(
      args.length === 0
        ? "start the image's entrypoint: srun starts a command beside it"
        : "pass arguments to the image's entrypoint: srun starts a command beside it",
      'add --command PROGRAM, or --set entrypoint=yes for an entrypoint that ends with exec "$@"',
    );
  if (program !== undefined && entrypoint === "yes")
    throw cannot(
      "run a program in place of the entrypoint and the entrypoint too",
      "leave --command out, or --set entrypoint=yes",
    );
  if (line.length === 0)
    throw cannot("start an image without a command: srun wants one", "add the command after --");
  // srun reads a first word with a hyphen as an option.
  return line[0]?.startsWith("-") ? ["--", ...line] : line;
}

/**
 * `REGISTRY#IMAGE:TAG` with the digest as the tag: enroot asks the registry for it unchanged, and a digest names a manifest too.
 * enroot accepts a colon in it since 3.0.1, and `@sha256:…` only since 4.0.0.
 */
function enrootUri(reference: ImmutableReference): string {
  const { registry, repository, digest } = parseImageReference(reference);
  return `${registry === "docker.io" ? "" : `${registry}#`}${repository}:${digest}`;
}

/** pyxis writes the paths into a shell script, in double quotes. Before 0.24.0 a blank ended them. */
function mountOption({ source, target, readOnly }: Mount): string {
  if (/[\s,:"$`\\]/.test(source + target))
    throw cannot(
      "mount a path with a blank, a comma, a colon or a character of the shell",
      "mount its parent folder",
    );
  return `${source}:${target}${readOnly ? ":ro" : ""}`;
}
