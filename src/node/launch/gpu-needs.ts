/** The GPU units that an image gets, how an engine of this machine hands them over, and the refusals of a host that cannot. */

import { type Stats, statSync } from "node:fs";
import { ImgmatchError } from "../../errors.ts";
import { attempt } from "../../io/attempt.ts";
import { type AmdUnit, type GpuUnit, type NvidiaUnit, unitId, unitsOf, vendorOf } from "./gpu-units.ts";
import type { DeviceAccess, LaunchRequest } from "./target.ts";
import { unsupported, type unsupportedBy } from "./unsupported.ts";

/** The units that the container gets; empty for an image without GPU code. Throws `LAUNCH_FAILED` when it needs one and gets none. */
export function neededUnits({ requires, host, units = unitsOf(host) }: LaunchRequest): readonly GpuUnit[] {
  const vendor = vendorOf(requires);
  const mine = units.filter((unit) => unit.vendor === vendor);
  if (mine.length > 0 || vendor === null) return mine;
  throw new ImgmatchError({
    code: "LAUNCH_FAILED",
    message: `the image needs ${vendor === "amd" ? "an AMD GPU" : "a GPU"} and this host has none visible`,
    fix: "run imgmatch resolve to see which image fits",
  });
}

/** The way of units into a container of Docker, Podman and Compose. */
export type Handover =
  /** Names of CDI. */
  | { readonly by: "cdi"; readonly names: readonly string[]; readonly groups: readonly string[] }
  /** NVIDIA's runtime of Docker, which takes numbers and uuids. */
  | { readonly by: "runtime"; readonly ids: readonly string[] }
  | { readonly by: "devices"; readonly nodes: readonly string[]; readonly groups: readonly string[] };

/** null for an image without GPU code. Throws `LAUNCH_FAILED` where the host has no way, and `LAUNCH_UNSUPPORTED` as {@link deviceNodes}. */
export function handoverOf(engine: "docker" | "podman" | "compose", request: LaunchRequest): Handover | null {
  const units = neededUnits(request);
  if (units.length === 0) return null;
  const { nvidia, amd } = request.host.runtime;
  const cards = units.filter(isAmd);
  if (cards.length > 0) {
    const groups = groupsFor(engine, request);
    if (amd === "cdi" && isByAddress(request)) return { by: "cdi", names: cdiNames(units), groups };
    if (request.access === undefined) throw withoutGroups();
    return { by: "devices", nodes: amdNodes(cards), groups };
  }
  // A bundled driver needs the kernel's devices alone: a runtime that mounts the host's library would break it.
  if (isBundled(request)) return { by: "devices", nodes: deviceNodes(engine, units), groups: [] };
  if (engine === "podman" && (nvidia === "legacy" || nvidia === "none"))
    throw withoutToolkit("podman gets GPUs through CDI, and this host has no CDI specification for them");
  if (nvidia === "none")
    throw withoutToolkit("the image takes the host's NVIDIA driver and Docker has no NVIDIA runtime here");
  if (engine === "podman" || nvidia === "cdi") return { by: "cdi", names: cdiNames(units), groups: [] };
  return { by: "runtime", ids: units.map(unitId) };
}

/** The refusal for a host that has nothing to hand its GPUs over. */
function withoutToolkit(message: string): ImgmatchError {
  const fix =
    "install the NVIDIA Container Toolkit and run: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml";
  return new ImgmatchError({ code: "LAUNCH_FAILED", message, fix });
}

function withoutGroups(): ImgmatchError {
  return new ImgmatchError({
    code: "LAUNCH_FAILED",
    message: "the groups of the host's AMD devices are numbers that its facts do not have",
    fix: "run imgmatch launch on that host, or write its CDI specification there (amd-ctk cdi generate --output=/etc/cdi/amd.json) and probe it again",
  });
}

/** Their names in the specification that nvidia-ctk or amd-ctk writes. */
function cdiNames(units: readonly GpuUnit[]): readonly string[] {
  return units.map((unit) =>
    unit.vendor === "nvidia" ? `nvidia.com/gpu=${unit.name}` : `amd.com/gpu=${unit.gpu.index}`,
  );
}

/**
 * amd-ctk counts GPUs by their PCI addresses, and partitions of one by their render nodes (ROCm/container-toolkit, commit 192fe8e:
 * internal/amdgpu/amdgpu.go). ROCm's own numbers, those of the facts, are mostly the same.
 */
function isByAddress({ host }: LaunchRequest): boolean {
  const places = (host.amd?.gpus ?? []).map(({ bus, render }) => `${bus} ${render?.padStart(24)}`);
  return places.every((place, index) => index === 0 || (places[index - 1] ?? "") <= place);
}

export function isBundled({ requires: { cuda } }: LaunchRequest): boolean {
  return cuda?.driver.mode === "bundled";
}

export function isAmd(unit: GpuUnit): unit is AmdUnit {
  return unit.vendor === "amd";
}

function isNvidia(unit: GpuUnit): unit is NvidiaUnit {
  return unit.vendor === "nvidia";
}

/** One for all GPUs, and one for each GPU or partition: the image has all the rest of its driver (ROCm, "Running ROCm Docker containers"). */
function amdNodes(units: readonly AmdUnit[]): readonly string[] {
  const nodes = units.map(({ gpu, name }) => {
    if (gpu.render !== null) return gpu.render;
    throw new ImgmatchError({
      code: "LAUNCH_FAILED",
      message: `GPU ${name} does not tell its device file`,
      fix: "run imgmatch doctor on that host, or launch through CDI: amd-ctk cdi generate --output=/etc/cdi/amd.json",
    });
  });
  return ["/dev/kfd", ...nodes];
}

/**
 * Podman without root has other numbers inside than outside, and one word for all groups of its user (podman run reference,
 * `--group-add=keep-groups`).
 */
function groupsFor(engine: string, { access }: LaunchRequest): readonly string[] {
  if (access === undefined || access.groups.length === 0) return [];
  return engine === "podman" && access.user !== 0 ? ["keep-groups"] : access.groups.map(String);
}

/**
 * Device nodes for an image that brings its own driver: one per GPU, the control device and unified memory.
 * Source: NVIDIA driver README, "Device nodes". A MIG instance has nodes below /dev/nvidia-caps whose numbers only the host's
 * /proc/driver/nvidia-caps tells: refused.
 */
export function deviceNodes(target: string, units: readonly GpuUnit[]): readonly string[] {
  if (units.some(({ mig }) => mig !== null)) {
    throw unsupported(
      target,
      "hand a MIG instance to an image that bundles its driver",
      "use an image that takes the host's driver (driver mode host), or a GPU without MIG",
    );
  }
  const gpus = units.filter(isNvidia).map(({ gpu }) => `/dev/nvidia${gpu.index}`);
  return [...gpus, "/dev/nvidiactl", "/dev/nvidia-uvm"];
}

/** Read and write, as on Fedora. */
const everybody = 0o6;

/** Access to the device files of this machine's AMD GPUs; nothing for GPUs of NVIDIA, whose runtime sees to it. */
export function accessTo(
  units: readonly GpuUnit[],
  ownerOf: (device: string) => Pick<Stats, "gid" | "mode"> | null = (device) =>
    attempt(() => statSync(device), null),
  user = process.getuid?.() ?? 0,
): Pick<LaunchRequest, "access"> {
  const cards = units.filter(isAmd);
  if (cards.length === 0) return {};
  const devices = ["/dev/kfd", ...cards.flatMap(({ gpu }) => gpu.render ?? [])];
  const gids = devices.flatMap((device) => {
    const owner = ownerOf(device);
    return owner === null || (owner.mode & everybody) === everybody ? [] : [owner.gid];
  });
  const access: DeviceAccess = { groups: [...new Set(gids)].sort((a, b) => a - b), user };
  return { access };
}

/** For schedulers that count whole GPUs only. */
export function wholeGpus(target: string, request: LaunchRequest): number {
  const units = neededUnits(request);
  if (units.some(({ mig }) => mig !== null))
    throw unsupported(target, "hand out MIG instances, only whole GPUs", "use a node without MIG");
  return units.length;
}

/** For targets that know GPUs of NVIDIA alone. */
export function refuseAmd(
  { requires }: LaunchRequest,
  cannot: ReturnType<typeof unsupportedBy>,
  why: string,
): void {
  if (vendorOf(requires) !== "amd") return;
  throw cannot(
    `hand out AMD GPUs: ${why}`,
    "launch it with docker, podman or apptainer on the node, or with kubernetes, swarm or slurm",
  );
}
