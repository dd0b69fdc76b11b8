/**
 * `apptainer run --nv`. Sources: Apptainer User Guide, "GPU Support" and "Bind Paths and Mounts"; apptainer/apptainer,
 * CHANGELOG (`--mount` since 1.0.0, `--no-eval` since 1.1.0, `instance run` since 1.2.0).
 */

import { byDigest } from "../../../oci/immutable-reference.ts";
import { deviceNodes, isBundled, neededUnits } from "../gpu-needs.ts";
import { unitId } from "../gpu-units.ts";
import { localTarget, type LaunchCommand, type LaunchRequest, type LocalTarget } from "../target.ts";
import { unsupportedBy } from "../unsupported.ts";
import { bindOption } from "./docker-run.ts";

const cannot = unsupportedBy("apptainer");

export const apptainer: LocalTarget = localTarget({
  name: "apptainer",
  description: "apptainer run on this machine",
  command,
});

function command(request: LaunchRequest): LaunchCommand {
  const { reference, args, program, cpus, memoryMiB, mounts = [], options = [] } = request;
  const words = [
    // Else a shell in the container reads variables and arguments, and runs what stands in $(…).
    "--no-eval",
    ...gpuOptions(request),
    ...mounts.flatMap((mount) => ["--mount", bindOption(mount, "destination", "ro")]),
    // Both need cgroups v2 (User Guide, "Limiting Container Resources").
    ...(cpus === undefined ? [] : ["--cpus", String(cpus)]),
    ...(memoryMiB === undefined ? [] : ["--memory", `${memoryMiB}M`]),
    ...options,
    `docker://${byDigest(reference)}`,
  ];
  const env = variables(request);
  if (request.task === "service")
    return { argv: ["apptainer", "instance", "run", ...words, instanceName(request), ...args], env };
  if (request.name !== undefined)
    throw cannot("name a container that is no service", "leave --name out, or add --task service");
  return program === undefined
    ? { argv: ["apptainer", "run", ...words, ...args], env }
    : { argv: ["apptainer", "exec", ...words, program, ...args], env };
}

function instanceName({ name, program }: LaunchRequest): string {
  if (program !== undefined) throw cannot("run another program as a service", "leave --command out");
  return name ?? "imgmatch";
}

/** Without `--nv` the host's devices are there all the same: `/dev` is the host's unless `--contain` says otherwise. */
function gpuOptions(request: LaunchRequest): readonly string[] {
  const units = neededUnits(request);
  if (units.length === 0) return [];
  if (!isBundled(request)) return ["--nv"];
  deviceNodes("apptainer", units);
  return [];
}

/** `--env` splits at commas; a variable with this prefix is handed over as it is (User Guide, "Environment and Metadata"). */
function variables(request: LaunchRequest): Readonly<Record<string, string>> {
  const units = neededUnits(request);
  // `--nv` shows every GPU of the host, so CUDA is told which ones are meant.
  const gpus = units.length === 0 ? {} : { CUDA_VISIBLE_DEVICES: units.map(unitId).join(",") };
  const env = { ...gpus, ...request.env };
  const lost = Object.keys(env).find((name) => kept.includes(name));
  if (lost !== undefined)
    throw cannot(`set ${lost} in a container: it keeps its own`, `leave --env ${lost} out`);
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [`APPTAINERENV_${name}`, value]));
}

/** Left out, or read as something else (apptainer/apptainer, internal/pkg/util/env/create.go and process_linux.go). */
const kept = [
  "HOME",
  "UID",
  "GID",
  "PREPEND_PATH",
  "APPEND_PATH",
  "SINGULARITY_SHELL",
  "SINGULARITY_APPNAME",
];
