/**
 * `sbatch` with one `srun` inside, through the pyxis plugin. Sources: Slurm, sbatch and srun manual pages and gres.html;
 * NVIDIA/pyxis README (`--container-*`); NVIDIA/enroot, src/docker.sh (image URIs).
 */

import { neededUnits } from "../gpu-needs.ts";
import { baseName, splitReference } from "../image-name.ts";
import { labelNames } from "../node-labels.ts";
import { shellWord, shellWords } from "../shell.ts";
import type { LaunchCommand, LaunchRequest, LaunchTarget, Mount } from "../target.ts";
import { unsupported } from "../unsupported.ts";

export const slurm: LaunchTarget = {
  name: "slurm",
  description: "sbatch with srun and the pyxis plugin, or srun alone with --set submit=srun",
  gpus: "scheduler",
  formats: ["shell", "json"],
  settings: { submit: "sbatch (default) or srun", partition: "where to queue" },
  launch: (request) => ({ form: "command", command: submit(request) }),
};

function submit(request: LaunchRequest): LaunchCommand {
  if (request.task === "service")
    throw unsupported("slurm", "keep a service running: its jobs end", "launch it on another system");
  const { settings = {}, env = {}, options = [] } = request;
  const how = settings.submit ?? "sbatch";
  const resources = [...jobOptions(request), ...options];
  const container = containerOptions(request);
  const program = programOf(request);
  if (how === "srun") return { argv: ["srun", ...resources, ...container, ...program], env: { ...env } };
  if (how !== "sbatch") throw unsupported("slurm", `submit with ${how}`, "use --set submit=sbatch or srun");
  // The job's script is one line of shell; its environment is srun's.
  const assignments = Object.entries(env).map(([name, value]) => `${name}=${shellWord(value)}`);
  const line = [...assignments, shellWords(["srun", ...container, ...program])].join(" ");
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
    ...(cpus === undefined ? [] : [`--cpus-per-task=${wholeCpus(cpus)}`]),
    ...(memoryMiB === undefined ? [] : [`--mem=${memoryMiB}M`]),
    ...(node == null ? [] : [`--constraint=${labelNames.slurm(node.key, node.value)}`]),
  ];
}

function containerOptions({ reference, program, env = {}, mounts = [] }: LaunchRequest): readonly string[] {
  const names = Object.keys(env);
  return [
    `--container-image=${enrootUri(reference)}`,
    program === undefined ? "--container-entrypoint" : "--no-container-entrypoint",
    ...(mounts.length === 0 ? [] : [`--container-mounts=${mounts.map(mountOption).join(",")}`]),
    // Variables of the image win over those of the job unless they are named (pyxis, args.c).
    ...(names.length === 0 ? [] : [`--container-env=${names.join(",")}`]),
  ];
}

function programOf({ program, args }: LaunchRequest): readonly string[] {
  if (program !== undefined) return [program, ...args];
  if (args.length > 0) return args;
  throw unsupported(
    "slurm",
    "start an image without a command: srun wants one",
    "add arguments for the entrypoint after --, or --command PROGRAM",
  );
}

/** `REGISTRY#IMAGE:TAG`; what stands as the tag is asked of the registry as it is, and a digest is a name of a manifest too. */
function enrootUri(reference: string): string {
  const { repository, tag, digest } = splitReference(reference);
  const slash = repository.indexOf("/");
  const first = repository.slice(0, Math.max(slash, 0));
  const hasRegistry = /[.:]/.test(first) || first === "localhost";
  const image = hasRegistry ? `${first}#${repository.slice(slash + 1)}` : repository;
  return `${image}:${digest ?? tag ?? "latest"}`;
}

function mountOption({ source, target, readOnly }: Mount): string {
  if (/[,:]/.test(source + target))
    throw unsupported("slurm", "mount a path with a comma or a colon", "mount its parent folder");
  return `${source}:${target}${readOnly ? ":ro" : ""}`;
}

function wholeCpus(cpus: number): number {
  if (Number.isInteger(cpus)) return cpus;
  throw unsupported("slurm", `hand out ${cpus} CPUs, only whole ones`, `use --cpus ${Math.ceil(cpus)}`);
}
