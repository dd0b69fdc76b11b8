/** A user's wishes about an answer, and their form for the rules. */

import { needsGpus, vendorsOf } from "../lock/requirement.ts";
import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import type { Lock, LockedImage } from "../lock/lock.ts";
import { existingCells, type FindCells } from "./find-cell.ts";
import type { OrderStep } from "./order-steps.ts";
import { checkPins, type Pin, type Pins, plainPins } from "./pins.ts";

export interface ResolveImageOptions {
  /** Axis → value. Text is exact, a version prefix or a pattern with `*`. A range needs a matcher. */
  readonly pins?: Readonly<Record<string, string | Pin>>;
  /** Only images without GPU code, also on a host whose GPUs are broken. */
  readonly cpuOnly?: boolean;
  /** Only images with GPU code: no image at all rather than one that leaves the GPUs unused. */
  readonly requireGpu?: boolean;
  /** No image whose day of deprecation is this day or before it: `2026-12-31`. Default: every image. */
  readonly notDeprecatedOn?: string;
  /** Ids of the images that an engine of this machine has. Such an image counts as built though it was not pushed. */
  readonly local?: ReadonlySet<string>;
  /** Steps of the order to look at first, in place of the lock's own: see `orderBy`. */
  readonly prefer?: readonly string[];
}

export interface FitOptions
  extends Pick<ResolveImageOptions, "cpuOnly" | "requireGpu" | "local" | "notDeprecatedOn"> {
  readonly pins?: Pins;
  /** Vendors for whose GPUs the fleet has images that could be the answer on some host. Default: none. */
  readonly gpuImages?: readonly GpuVendor[];
  /** Picks the best of several of a kind in one image. Default: the order without preferences. */
  readonly order?: readonly OrderStep[];
  /** Finds cells of the lock, so that no fix proposes to add an existing cell. */
  readonly existing?: FindCells;
}

/** Throws `USAGE` for a range among the pins. */
export function fitOptions(lock: Lock, options: ResolveImageOptions) {
  const pins = plainPins(options.pins ?? {});
  const candidates = Object.values(lock.images).filter(
    (image) =>
      needsGpus(image.requires) && canBeHad(image, options.local) && checkPins(image.axes, pins) === null,
  );
  const vendors = new Set(candidates.flatMap(({ requires }) => vendorsOf(requires)));
  const gpuImages = gpuVendors.filter((vendor) => vendors.has(vendor));
  return { ...options, pins, gpuImages, existing: existingCells(lock) };
}

/** A registry has the image, or an engine of this machine that is asked for it. */
export function canBeHad(
  { digest, local }: Pick<LockedImage, "digest" | "local">,
  held: ReadonlySet<string> | undefined,
): boolean {
  return digest !== null || (local !== undefined && held?.has(local.id) === true);
}

/** `--pin cuda=none` asks for an image without GPU code as clearly as `--cpu` does. */
export function wantsCpu({ cpuOnly, pins }: Pick<ResolveImageOptions, "cpuOnly" | "pins">): boolean {
  return cpuOnly === true || pinTextOf(pins, "cuda") === "none" || pinTextOf(pins, "accel") === "none";
}

/** `--pin compute=gfx90a:xnack+` says that the programs run with xnack on (`HSA_XNACK=1`). */
export function wantsXnack({ pins }: Pick<ResolveImageOptions, "pins">): boolean {
  return pinTextOf(pins, "compute")?.includes("xnack+") === true;
}

export function pinTextOf(pins: ResolveImageOptions["pins"], axis: string): string | undefined {
  const pin = pins !== undefined && Object.hasOwn(pins, axis) ? pins[axis] : undefined;
  return typeof pin === "string" ? pin : pin?.text;
}
