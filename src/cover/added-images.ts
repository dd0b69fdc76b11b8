/** Cells that a fleet does not have, as a matrix with these values would make them. */

import { hasGpuCode, vendorNames } from "../hardware/requirement.ts";
import { usageError } from "../errors.ts";
import { marchPlatform } from "../hardware/cpu-marches.ts";
import type { CpuRequirement, Lock, LockedImage } from "../lock/lock.ts";
import type { AccelValue, ComputeValue, MarchValue } from "../fleet/matrix/matrix.ts";
import { parseComputeValue } from "../fleet/matrix/compute-values.ts";
import type { Parsed } from "../fleet/matrix/matrix-problems.ts";
import { none, parseAccelValue, parseCudaValue, parseMarchValue, vendorOf } from "../fleet/matrix/values.ts";
import { sortedEntries } from "../io/collections.ts";
import { slug } from "../oci/slug.ts";
import { requirementOf } from "../fleet/cells/make-cell.ts";
import { whyImpossible } from "../fleet/cells/impossible.ts";
import { plannedImage } from "./planned-image.ts";

type Axes = Readonly<Record<string, string>>;

/**
 * The cells of these values, with every combination of the other axes that the fleet has among its cells of the same kind, with
 * GPU code or without; those that are there already are left out. A march may be one of the fleet's own labels, which keeps what it
 * leaves out. `what` names the wish in messages.
 *
 * Throws `USAGE` for an axis or a value that is none, where no cell can be built, and where all of them are there.
 */
export function addedImages(lock: Lock, wanted: Axes, what: string): Lock["images"] {
  const images = Object.values(lock.images);
  const known = [
    ...new Set([accelAxis(images), "compute", "march", ...images.flatMap(({ axes }) => Object.keys(axes))]),
  ];
  const unknown = Object.keys(wanted).find((axis) => !known.includes(axis));
  if (unknown !== undefined)
    throw usageError(`${what}: the fleet has no axis ${unknown}`, `its axes are ${known.sort().join(", ")}`);
  const added: Record<string, LockedImage> = {};
  const impossible = new Set<string>();
  for (const axes of combinations(images, wanted)) {
    const id = idOf(axes);
    if (images.some((image) => sameAxes(image.axes, axes))) continue;
    const made = makeImage(id, axes, images, what);
    if (typeof made === "string") impossible.add(made);
    else added[id] = made;
  }
  if (Object.keys(added).length > 0) return added;
  const [reason] = impossible;
  throw usageError(
    reason === undefined ? `${what} adds nothing: the fleet has these cells` : `${what}: ${reason}`,
    reason === undefined ? "leave it out" : "name values that can be built, also of the other axes",
  );
}

/** The axis of accelerators, which a fleet calls by one of two names. */
function accelAxis(images: readonly LockedImage[]): "accel" | "cuda" {
  return images.some(({ axes }) => axes.accel !== undefined) ? "accel" : "cuda";
}

/** As a matrix makes ids, with the hardware axes first: a lock does not say in which order its matrix has them. */
function idOf({ accel, cuda, compute, march, ...free }: Axes): string {
  const values = [
    accel ?? cuda,
    compute === none ? undefined : compute,
    march,
    ...sortedEntries(free).map(([, value]) => value),
  ];
  return values.flatMap((value) => (value === undefined ? [] : [slug(value)])).join("_");
}

/** Each combination once. A fleet without any cell of the kind has nothing to say of the other axes. */
function combinations(images: readonly LockedImage[], wanted: Axes): readonly Axes[] {
  const accel = wanted[accelAxis(images)];
  const cpuOnly = accel === none;
  const gpu = !cpuOnly && (accel !== undefined || wanted.compute !== undefined);
  const alike = images.filter(({ requires }) =>
    cpuOnly ? !hasGpuCode(requires) : !gpu || hasGpuCode(requires),
  );
  const base = (alike.length > 0 ? alike : images).map(({ axes }) => axes);
  const made = (base.length > 0 ? base : [{}]).map((axes) => ({
    ...axes,
    ...wanted,
    ...(cpuOnly ? { compute: none } : {}),
  }));
  return [...new Map(made.map((axes) => [JSON.stringify(Object.entries(axes).sort()), axes])).values()];
}

function sameAxes(a: Axes, b: Axes): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => (a[name] ?? none) === (b[name] ?? none));
}

const at = { file: "--what-if" };

/** The reason where it cannot be. */
function makeImage(
  id: string,
  axes: Axes,
  images: readonly LockedImage[],
  what: string,
): LockedImage | string {
  const label = axes.march;
  if (label === undefined) throw usageError(`${what} names no march`, "add one: march=x86-64-v3");
  const own = images.find((image) => image.axes.march === label);
  const march = required<MarchValue>(parseMarchValue(own?.requires.cpu.march ?? label, at), what);
  const accel = accelOf(axes, images, what);
  const vendor = accel === null ? null : vendorOf(accel);
  const compute =
    vendor === null ? null : required<ComputeValue>(parseComputeValue(listOf(axes.compute, what), at), what);
  if (vendor !== null && compute !== null && compute.vendor !== vendor)
    return `${compute.label} is for GPUs of ${vendorNames[compute.vendor]}, ${accel?.label} for those of ${vendorNames[vendor]}`;
  const platform = marchPlatform(march.march);
  const requires = requirementOf(march, accel, compute);
  const reason = whyImpossible({ march, accel, compute, unmatched: null }, { compiler: null });
  if (reason !== null) return reason;
  // Features that the fleet's march leaves out, this one leaves out too; base images' floors are the fleet's.
  const cpu: CpuRequirement = own === undefined ? requires.cpu : own.requires.cpu;
  return plannedImage({ id, axes, platform, requires: { ...requires, cpu } });
}

/** One that the fleet has already keeps its driver's mode and its base images' conditions, whatever its label. */
function accelOf(axes: Axes, images: readonly LockedImage[], what: string): AccelValue | null {
  const axis = accelAxis(images);
  const label = axes[axis];
  if (label === undefined) return null;
  const own = images.find((image) => image.axes[axis] === label)?.requires;
  const entry =
    own?.cuda != null
      ? { cuda: own.cuda.toolkit }
      : own?.rocm != null
        ? { rocm: own.rocm.release }
        : label.startsWith("cuda-")
          ? { cuda: label.slice(5) }
          : label.startsWith("rocm-")
            ? { rocm: label.slice(5) }
            : label;
  const value = required<AccelValue>(
    axis === "cuda" ? parseCudaValue(own?.cuda?.toolkit ?? label, at) : parseAccelValue(entry, at),
    what,
  );
  return own?.cuda == null ? value : { ...value, driver: own.cuda.driver, require: own.cuda.require ?? null };
}

/** The label of several is `8.6+8.9`, that of one with PTX `9.0+ptx`, of a card's state `gfx90a:xnack+`. */
function listOf(compute: string | undefined, what: string): string[] {
  if (compute === undefined || compute === none)
    throw usageError(`${what} names no compute capability`, "add one: compute=9.0");
  return compute.split(/(?<!:xnack|:sramecc)\+(?!ptx)/);
}

function required<Value>(parsed: Parsed<Value>, what: string): Value {
  if ("value" in parsed) return parsed.value;
  const [problem] = parsed.problems;
  throw usageError(`${what}: ${problem?.message ?? "no such value"}`, problem?.fix ?? "name another value");
}
