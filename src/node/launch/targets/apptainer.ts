/**
 * `apptainer run --nv` and `--rocm`. Sources: Apptainer User Guide, "GPU Support" and "Bind Paths and Mounts"; apptainer/apptainer,
 * CHANGELOG (`--mount` since 1.0.0, `--no-eval` since 1.1.0, `instance run` since 1.2.0).
 */

import { byDigest } from "../../../oci/immutable-reference.ts";
import { flag, flags } from "../fields.ts";
import type { GpuVendor } from "../../../hardware/gpu-vendors.ts";
import { neededUnits } from "../gpu-needs.ts";
import { type GpuUnit, unitId } from "../gpu-units.ts";
import { deviceNodes } from "../nvidia-handover.ts";
import {
  isBundled,
  localTarget,
  type LaunchCommand,
  type LaunchRequest,
  type LocalTarget,
} from "../target.ts";
import { unsupportedBy } from "../unsupported.ts";
import { bindOption } from "./docker-run.ts";

const cannot = unsupportedBy("apptainer");

export const apptainer: LocalTarget = localTarget({
  name: "apptainer",
  description: "apptainer run on this machine",
  noPorts: "the container uses the machine's network, and its ports are open there",
  settings: {
    rocm: "no: AMD devices without --rocm, where the host has ROCm libraries that would hide those of the image",
  },
  command,
});

function command(request: LaunchRequest): LaunchCommand {
  const { reference, args, program, cpus, memoryMiB, mounts = [], options = [] } = request;
  const words = [
    // Without it a shell in the container expands variables and $(…) in the arguments.
    "--no-eval",
    ...gpuOptions(request),
    ...flags(
      "--mount",
      mounts.map((mount) => bindOption(mount, "destination", "ro")),
    ),
    // Both need cgroups v2 (User Guide, "Limiting Container Resources").
    ...flag("--cpus", cpus),
    ...flag("--memory", memoryMiB, "M"),
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

interface Way {
  readonly options: (request: LaunchRequest, units: readonly GpuUnit[]) => readonly string[];
  /** The container sees every GPU of the host: the variables tell programs which GPUs to use. */
  readonly visible: (units: readonly GpuUnit[]) => Readonly<Record<string, string>>;
}

const ways: Readonly<Record<GpuVendor, Way>> = {
  nvidia: {
    options: (request, units) => {
      if (!isBundled(request)) return ["--nv"];
      deviceNodes("apptainer", units);
      return [];
    },
    visible: (units) => ({ CUDA_VISIBLE_DEVICES: units.map(unitId).join(",") }),
  },
  amd: {
    options: rocmOption,
    // HIP counts the GPUs that ROCr leaves. Without a value here HIP would obey the caller's variable.
    visible: (units) => ({
      ROCR_VISIBLE_DEVICES: units.map(({ gpu }) => gpu.index).join(","),
      HIP_VISIBLE_DEVICES: units.map((_, index) => index).join(","),
    }),
  },
};

function gpuOptions(request: LaunchRequest): readonly string[] {
  const units = neededUnits(request);
  const [first] = units;
  return first === undefined ? [] : ways[first.vendor].options(request, units);
}

/**
 * `/dev` is the host's without `--nv` and `--rocm` too, unless `--contain` says otherwise. `--rocm` also mounts the host's libraries that
 * etc/rocmliblist.conf names, among them HSA's.
 */
function rocmOption({ settings = {} }: LaunchRequest): readonly string[] {
  const { rocm = "yes" } = settings;
  if (rocm !== "yes" && rocm !== "no") throw cannot(`read --set rocm=${rocm}`, "use yes or no");
  return rocm === "no" ? [] : ["--rocm"];
}

/** `--env` splits at commas. A variable with the prefix APPTAINERENV_ is passed on whole (User Guide, "Environment and Metadata"). */
function variables(request: LaunchRequest): Readonly<Record<string, string>> {
  const units = neededUnits(request);
  const [first] = units;
  const visible = first === undefined ? {} : ways[first.vendor].visible(units);
  const env = { ...visible, ...request.env };
  const lost = Object.keys(env).find((name) => reserved.includes(name));
  if (lost !== undefined)
    throw cannot(`set ${lost} in a container: it keeps its own`, `leave --env ${lost} out`);
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [`APPTAINERENV_${name}`, value]));
}

/** Apptainer drops these, or reads them as something else (apptainer/apptainer, internal/pkg/util/env/create.go and process_linux.go). */
const reserved = [
  "HOME",
  "UID",
  "GID",
  "PREPEND_PATH",
  "APPEND_PATH",
  "SINGULARITY_SHELL",
  "SINGULARITY_APPNAME",
];
