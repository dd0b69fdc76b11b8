/** The way of AMD's GPUs into a container. */

import { ImgmatchError } from "../../errors.ts";
import { type GpuUnit, traitsOf } from "./gpu-units.ts";
import type { Handover, LaunchRequest, LocalEngine } from "./target.ts";

/** One node for all GPUs, beside one for each GPU or partition. */
const common = "/dev/kfd";

export function handOverAmd(
  engine: LocalEngine,
  request: LaunchRequest,
  units: readonly GpuUnit[],
): Handover {
  const groups = groupsFor(engine, request);
  // The device names in the specification that amd-ctk writes.
  if (request.host.runtime.amd === "cdi" && isByAddress(request))
    return { via: "cdi", devices: units.map(({ gpu }) => `amd.com/gpu=${gpu.index}`), groups };
  if (request.access === undefined) throw withoutGroups();
  return { via: "files", devices: [common, ...units.map(nodeOf)], groups };
}

/** The device files whose groups a container needs. */
export function groupedFiles(units: readonly GpuUnit[]): readonly string[] {
  return units.length === 0 ? [] : [common, ...units.flatMap((unit) => traitsOf(unit).file ?? [])];
}

function withoutGroups(): ImgmatchError {
  return new ImgmatchError({
    code: "LAUNCH_FAILED",
    message: "the groups of the host's AMD devices are numbers that its facts do not have",
    fix: "run imgmatch launch on the host, or write a CDI specification there (amd-ctk cdi generate --output=/etc/cdi/amd.json) and probe again",
  });
}

/**
 * Tells whether the facts number the GPUs as amd-ctk does: by PCI address, and partitions of one GPU by render node (ROCm/container-toolkit,
 * commit 192fe8e: internal/amdgpu/amdgpu.go). The facts have ROCm's numbers, which are mostly the same.
 */
function isByAddress({ host }: LaunchRequest): boolean {
  const places = (host.amd?.gpus ?? []).map(({ bus, render }) => `${bus} ${render?.padStart(24)}`);
  return places.every((place, index) => index === 0 || (places[index - 1] ?? "") <= place);
}

/** The image has the rest of the driver (ROCm, "Running ROCm Docker containers"). */
function nodeOf(unit: GpuUnit): string {
  const { file } = traitsOf(unit);
  if (file !== null) return file;
  throw new ImgmatchError({
    code: "LAUNCH_FAILED",
    message: `GPU ${unit.name} does not tell its device file`,
    fix: "run imgmatch doctor on that host, or launch through CDI: amd-ctk cdi generate --output=/etc/cdi/amd.json",
  });
}

/** Rootless Podman renumbers groups, so it keeps all groups of its user (podman run reference, `--group-add=keep-groups`). */
function groupsFor(engine: LocalEngine, { access }: LaunchRequest): readonly string[] {
  if (access === undefined || access.groups.length === 0) return [];
  return engine === "podman" && access.user !== 0 ? ["keep-groups"] : access.groups.map(String);
}
