/** The GPU units that a container gets, and their way into it. A host or target that has no way refuses. */

import { type Stats, statSync } from "node:fs";
import { ImgmatchError } from "../../errors.ts";
import { attempt } from "../../io/attempt.ts";
import { type AmdUnit, type GpuUnit, unitId, unitsOf, vendorOf } from "./gpu-units.ts";
import type { DeviceAccess, LaunchRequest } from "./target.ts";
import { unsupported, type unsupportedBy } from "./unsupported.ts";

/** The units for the image's vendor; none for an image without GPU code. Throws `LAUNCH_FAILED` if the image needs one and there is none. */
export function neededUnits({ requires, host, units = unitsOf(host) }: LaunchRequest): readonly GpuUnit[] {
  const vendor = vendorOf(requires);
  const usable = units.filter((unit) => unit.vendor === vendor);
  if (usable.length > 0 || vendor === null) return usable;
  throw new ImgmatchError({
    code: "LAUNCH_FAILED",
    message: `the image needs ${vendor === "amd" ? "an AMD GPU" : "a GPU"} and this host has none visible`,
    fix: "run imgmatch resolve to see which image fits",
  });
}

/** The way of GPU units into a container of Docker, Podman or Compose. */
export type Handover =
  /** CDI device names, or device files. */
  | { readonly by: "cdi" | "files"; readonly devices: readonly string[]; readonly groups: readonly string[] }
  /** Docker's NVIDIA runtime, which takes indexes and uuids. */
  | { readonly by: "runtime"; readonly ids: readonly string[] };

/** null for an image without GPU code. Throws `LAUNCH_FAILED` if the host offers no way, and as {@link deviceNodes}. */
export function handoverOf(engine: "docker" | "podman" | "compose", request: LaunchRequest): Handover | null {
  const units = neededUnits(request);
  if (units.length === 0) return null;
  const { nvidia, amd } = request.host.runtime;
  const cards = units.filter(isAmd);
  if (cards.length > 0) {
    const groups = groupsFor(engine, request);
    if (amd === "cdi" && isByAddress(request)) return { by: "cdi", devices: cdiNames(units), groups };
    if (request.access === undefined) throw withoutGroups();
    return { by: "files", devices: amdNodes(cards), groups };
  }
  // A bundled driver needs only the kernel's devices: the host's library, which a runtime mounts, would break it.
  if (isBundled(request)) return { by: "files", devices: deviceNodes(engine, units), groups: [] };
  if (engine === "podman" && (nvidia === "legacy" || nvidia === "none"))
    throw withoutToolkit("podman gets GPUs through CDI, and this host has no CDI specification for them");
  if (nvidia === "none")
    throw withoutToolkit("the image takes the host's NVIDIA driver and Docker has no NVIDIA runtime here");
  if (engine === "podman" || nvidia === "cdi") return { by: "cdi", devices: cdiNames(units), groups: [] };
  return { by: "runtime", ids: units.map(unitId) };
}

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

/** The device names in the specification that nvidia-ctk or amd-ctk writes. */
function cdiNames(units: readonly GpuUnit[]): readonly string[] {
  return units.map((unit) =>
    unit.vendor === "nvidia" ? `nvidia.com/gpu=${unit.name}` : `amd.com/gpu=${unit.gpu.index}`,
  );
}

/**
 * Tells whether the facts number the GPUs as amd-ctk does: by PCI address, and partitions of one GPU by render node (ROCm/container-toolkit,
 * commit 192fe8e: internal/amdgpu/amdgpu.go). The facts have ROCm's numbers, which are mostly the same.
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

/** One node for all GPUs, and one for each GPU or partition. The image has the rest of the driver (ROCm, "Running ROCm Docker containers"). */
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

/** Rootless Podman renumbers groups, so it keeps all groups of its user (podman run reference, `--group-add=keep-groups`). */
function groupsFor(engine: string, { access }: LaunchRequest): readonly string[] {
  if (access === undefined || access.groups.length === 0) return [];
  return engine === "podman" && access.user !== 0 ? ["keep-groups"] : access.groups.map(String);
}

/**
 * NVIDIA's device nodes, for an image that bundles its driver: one per GPU, the control device and unified memory (NVIDIA driver README,
 * "Device nodes"). Refuses MIG instances: only the host's /proc/driver/nvidia-caps tells the numbers of their nodes.
 */
export function deviceNodes(target: string, units: readonly GpuUnit[]): readonly string[] {
  if (units.some(({ mig }) => mig !== null)) {
    throw unsupported(
      target,
      "hand a MIG instance to an image that bundles its driver",
      "use an image that takes the host's driver (driver mode host), or a GPU without MIG",
    );
  }
  const gpus = units.map(({ gpu }) => `/dev/nvidia${gpu.index}`);
  return [...gpus, "/dev/nvidiactl", "/dev/nvidia-uvm"];
}

/** Read and write for everybody, as on Fedora. */
const openToAll = 0o6;

/** Access to the device files of this machine's AMD GPUs. NVIDIA's runtime grants access to its own. */
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
    return owner === null || (owner.mode & openToAll) === openToAll ? [] : [owner.gid];
  });
  const access: DeviceAccess = { groups: [...new Set(gids)].sort((a, b) => a - b), user };
  return { access };
}

/** The number of GPUs, for schedulers that count only whole ones. */
export function wholeGpus(target: string, request: LaunchRequest): number {
  const units = neededUnits(request);
  if (units.some(({ mig }) => mig !== null))
    throw unsupported(target, "hand out MIG instances, only whole GPUs", "use a node without MIG");
  return units.length;
}

/** For schedulers that count only whole cores. */
export function wholeCpus(target: string, cpus: number): number {
  if (Number.isInteger(cpus)) return cpus;
  throw unsupported(target, `hand out ${cpus} CPUs, only whole ones`, `use --cpus ${Math.ceil(cpus)}`);
}

/** For targets whose GPUs come with the host's driver. */
export function refuseBundled(
  request: LaunchRequest,
  cannot: ReturnType<typeof unsupportedBy>,
  what: string,
): void {
  if (!isBundled(request)) return;
  throw cannot(
    what,
    "launch it with docker on each node, or build a cell that takes the host's driver (driver mode host)",
  );
}

/** For targets that know only NVIDIA's GPUs. */
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
