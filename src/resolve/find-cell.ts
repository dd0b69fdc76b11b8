/** Finds the image that a person names. */

import { ImgmatchError } from "../errors.ts";
import { formatComputeCapability } from "../hardware/compute-capability.ts";
import { cudaToolkits, driverFloor, toolkitCompiles } from "../hardware/cuda-toolkits.ts";
import { compareVersions, parseVersion } from "../hardware/driver-version.ts";
import { gpuVendors, hasGpuCode, vendorsOf } from "../hardware/requirement.ts";
import { marchPlatforms } from "../hardware/march-platforms.ts";
import { isAdopted } from "../lock/adopted-lock.ts";
import { repositoriesOf } from "../lock/image-repository.ts";
import type { Lock, LockedImage } from "../lock/lock.ts";
import { groupBy, remember, sortedEntries } from "../io/collections.ts";
import type { AmdView, HostView, NvidiaView } from "./host-view.ts";
import { listSome } from "./misfit.ts";
import { checkPins, plainPins } from "./pins.ts";
import type { ResolveImageOptions } from "./resolve-options.ts";
import { checkGpuPresence } from "./rules/gpu-presence.ts";

export interface FoundCell {
  readonly cell: string;
  readonly image: LockedImage;
}

/** By cell id, else by tag, with or without the repository before it. Throws `CELL_NOT_FOUND`. */
export function findCell(lock: Lock, name: string): FoundCell {
  const byId = Object.hasOwn(lock.images, name) ? lock.images[name] : undefined;
  if (byId !== undefined) return { cell: name, image: byId };
  const prefix = repositoriesOf(lock).find((each) => name.startsWith(`${each}:`));
  const tag = (prefix === undefined ? name : name.slice(prefix.length + 1)).replace(/@sha256:[0-9a-f]+$/, "");
  const byTag = Object.entries(lock.images).find(([, image]) => image.tag === tag);
  if (byTag !== undefined) return { cell: byTag[0], image: byTag[1] };
  const cells = Object.keys(lock.images).sort();
  const similar = cells.filter((cell) => cell.includes(name));
  throw new ImgmatchError({
    code: "CELL_NOT_FOUND",
    message: `no cell and no tag of the lock is called ${name}`,
    fix:
      cells.length === 0
        ? "run imgmatch build: the lock is empty"
        : `for example: ${listSome(similar.length > 0 ? similar : cells, 5)}`,
  });
}

export type Axes = Readonly<Record<string, string>>;

/** Cells that a lock has already: no fix proposes to add one of them. */
export type ExistingCell = readonly [cell: string, image: LockedImage];

/** The options as the rules read them. Throws `USAGE` for a range among the pins. */
export function fitOptions(lock: Lock, options: ResolveImageOptions) {
  const pins = plainPins(options.pins ?? {});
  const candidates = Object.values(lock.images).filter(
    ({ requires, axes, digest, local }) =>
      hasGpuCode(requires) &&
      (digest !== null || (local !== undefined && options.local?.has(local.id) === true)) &&
      checkPins(axes, pins) === null,
  );
  const vendors = new Set(candidates.flatMap(({ requires }) => vendorsOf(requires)));
  const gpuImages = gpuVendors.filter((vendor) => vendors.has(vendor));
  return { ...options, pins, gpuImages, existing: existingCells(lock) };
}

/** The cells that agree with these axes in all but those named; the lock is read when it is first asked. */
export type FindCells = (axes: Axes, but: readonly string[]) => readonly ExistingCell[];

export function existingCells({ images }: Pick<Lock, "images">): FindCells {
  const indexes = new Map<string, ReadonlyMap<string, readonly ExistingCell[]>>();
  return (axes, but) => {
    const index = remember(indexes, but.join(), () =>
      groupBy(sortedEntries(images), ([, image]) => keyOf(image.axes, but)),
    );
    return index.get(keyOf(axes, but)) ?? [];
  };
}

function keyOf(axes: Axes, but: readonly string[]): string {
  return JSON.stringify(sortedEntries(axes).filter(([axis]) => !but.includes(axis)));
}

/**
 * `add a cell cuda=12.8 compute=9.0 march=x86-64-v4`, or for a lock of images that others built what to adopt; null when the
 * facts do not say enough, or when no image would fit as the host stands. The toolkit is the newest that this driver serves
 * natively and that compiles for every visible GPU.
 */
export function suggestCell(host: HostView, lock: Pick<Lock, "images">): string | null {
  const adopts = isAdopted(lock);
  const march = host.cpu.level;
  if (march === null || host.untold.nvidia.length > 0 || !marchPlatforms.includes(host.platform)) return null;
  const { nvidia } = host;
  const images = Object.values(lock.images);
  const axis = images.some(({ axes }) => axes.accel !== undefined) ? "accel" : "cuda";
  if (nvidia === null || nvidia.driver === null || nvidia.gpus.length === 0) {
    const forAmd = axis === "accel" || images.some(({ requires }) => vendorsOf(requires).includes("amd"));
    if (forAmd && host.untold.amd.length > 0) return null;
    if (forAmd && host.amd?.driven === true && host.amd.gpus.length > 0)
      return suggestForAmd(host.amd, march, adopts);
    return adopts
      ? `adopt an image without GPU code, for CPUs of ${march} or less`
      : `add a cell ${axis}=none march=${march}`;
  }
  if (!checkGpuPresence(host).ok) return null;
  const computes = nvidia.gpus.map(({ compute }) => compute);
  const known = computes.filter((compute) => compute !== null);
  const toolkit = newestToolkit(nvidia);
  if (known.length < computes.length || toolkit === null) return null;
  const values = [...new Set(known.map(formatComputeCapability))].sort();
  if (adopts)
    return `adopt an image with code for compute capability ${values.join(" and ")}, of CUDA ${toolkit} at most, for CPUs of ${march} or less`;
  return `add a cell ${axis === "accel" ? `accel=cuda-${toolkit}` : `cuda=${toolkit}`} compute=${oneOrList(values)} march=${march}`;
}

/** Which releases compile for a target, the tables of the rules do not say. */
function suggestForAmd({ gpus }: AmdView, march: string, adopts: boolean): string {
  const targets = [...new Set(gpus.flatMap(({ target }) => target ?? []))].sort();
  return adopts
    ? `adopt an image with code for ${targets.join(" and ")}, for CPUs of ${march} or less`
    : `add a cell accel=rocm-VERSION compute=${oneOrList(targets)} march=${march}`;
}

function oneOrList(values: readonly string[]): string {
  return values.length === 1 ? (values[0] ?? "") : `[${values.join(", ")}]`;
}

function newestToolkit({ cuda, driver, scale, gpus }: NvidiaView): string | null {
  if (cuda === null || driver === null) return null;
  const usable = cudaToolkits.filter((toolkit) => {
    const minor = parseVersion(toolkit.minor);
    if (minor === null || compareVersions(minor, cuda.parts.slice(0, 2)) > 0) return false;
    const floor = parseVersion(driverFloor(toolkit)?.minimum ?? "");
    if (scale === "linux" && (floor === null || compareVersions(driver.parts, floor) < 0)) return false;
    return gpus.every(
      ({ compute }) =>
        compute !== null && toolkitCompiles(toolkit, { kind: "sass", compute, suffix: "" }) === true,
    );
  });
  // Oldest first in the table.
  return usable.at(-1)?.minor ?? null;
}
