/** The GPU units that a container gets, and how the container gets them. A host or target that has no way refuses. */

import { type Stats, statSync } from "node:fs";
import { ImgmatchError } from "../../errors.ts";
import { attempt } from "../../io/attempt.ts";
import { vendorsOf } from "../../lock/requirement.ts";
import { type GpuVendor, gpuVendors, vendorNames } from "../../hardware/gpu-vendors.ts";
import { groupedFiles, handOverAmd } from "./amd-handover.ts";
import { type GpuUnit, unitsOf } from "./gpu-units.ts";
import { handOverNvidia } from "./nvidia-handover.ts";
import {
  type DeviceAccess,
  type Handover,
  isBundled,
  type LaunchRequest,
  type LocalEngine,
} from "./target.ts";
import { unsupported, type unsupportedBy } from "./unsupported.ts";

interface Needs {
  /** For messages. */
  readonly one: string;
  /** The way of the units into the container. Throws `LAUNCH_FAILED` if the host offers none. */
  readonly handOver: (engine: LocalEngine, request: LaunchRequest, units: readonly GpuUnit[]) => Handover;
  /** The device files whose groups a container needs. */
  readonly grouped: (units: readonly GpuUnit[]) => readonly string[];
}

const needs: Readonly<Record<GpuVendor, Needs>> = {
  // NVIDIA's runtime grants access to its own files.
  nvidia: { one: "a GPU", handOver: handOverNvidia, grouped: () => [] },
  amd: { one: "an AMD GPU", handOver: handOverAmd, grouped: groupedFiles },
};

/** The units for the image's vendor; none for an image without GPU code. Throws `LAUNCH_FAILED` if the image needs one and there is none. */
export function neededUnits({ requires, host, units = unitsOf(host) }: LaunchRequest): readonly GpuUnit[] {
  const [vendor] = vendorsOf(requires);
  const usable = units.filter((unit) => unit.vendor === vendor);
  if (usable.length > 0 || vendor === undefined) return usable;
  throw new ImgmatchError({
    code: "LAUNCH_FAILED",
    message: `the image needs ${needs[vendor].one} and this host has none visible`,
    fix: "run imgmatch resolve to see which image fits",
  });
}

/** null for an image without GPU code. Throws `LAUNCH_FAILED` if the host offers no way. */
export function handoverOf(engine: LocalEngine, request: LaunchRequest): Handover | null {
  const units = neededUnits(request);
  const [first] = units;
  return first === undefined ? null : needs[first.vendor].handOver(engine, request, units);
}

/** Read and write for everybody, as on Fedora. */
const openToAll = 0o6;

/** Access to the device files of this machine's GPUs. */
export function accessTo(
  units: readonly GpuUnit[],
  ownerOf: (device: string) => Pick<Stats, "gid" | "mode"> | null = (device) =>
    attempt(() => statSync(device), null),
  user = process.getuid?.() ?? 0,
): Pick<LaunchRequest, "access"> {
  const devices = gpuVendors.flatMap((vendor) =>
    needs[vendor].grouped(units.filter((unit) => unit.vendor === vendor)),
  );
  if (devices.length === 0) return {};
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

/** null for a vendor whose GPUs the target hands out. */
export type ByVendorWords = Readonly<Record<GpuVendor, string | null>>;

/** For targets that hand out the GPUs of some vendors. */
export function refuseVendor(
  { requires }: LaunchRequest,
  cannot: ReturnType<typeof unsupportedBy>,
  why: ByVendorWords,
): void {
  const [vendor] = vendorsOf(requires);
  if (vendor === undefined || why[vendor] === null) return;
  throw cannot(
    `hand out ${vendorNames[vendor]} GPUs: ${why[vendor]}`,
    "launch it with docker, podman or apptainer on the node, or with kubernetes, swarm or slurm",
  );
}
