/** Adds the cells of `--what-if add:` to a fleet, as a matrix with these values would make them. */

import {
  answerOfSide,
  type CpuRequirement,
  needsGpus,
  releaseOf,
  sideKeys,
  sidesOf,
} from "../lock/requirement.ts";
import { vendorNames } from "../hardware/gpu-vendors.ts";
import { usageError } from "../errors.ts";
import { marchPlatform } from "../hardware/cpu-marches.ts";
import type { Lock, LockedImage } from "../lock/lock.ts";
import type { AccelValue, ComputeValue, MarchValue } from "../fleet/matrix/matrix.ts";
import { parseComputeValue } from "../fleet/matrix/compute-values.ts";
import { keepNeeds } from "../fleet/matrix/gpu-axes.ts";
import type { Parsed } from "../fleet/matrix/matrix-problems.ts";
import type { ValueInput } from "../fleet/matrix/value-schemas.ts";
import { none, parseAccelValue, parseCudaValue, parseMarchValue, vendorOf } from "../fleet/matrix/values.ts";
import { sortedEntries } from "../io/collections.ts";
import { slug } from "../oci/slug.ts";
import { requirementOf } from "../fleet/cells/make-cell.ts";
import { whyImpossible } from "../fleet/cells/impossible.ts";
import { plannedImage } from "./cover-fleet.ts";
import { differentAxes } from "./fleet-cost.ts";

type Axes = Readonly<Record<string, string>>;

/**
 * The new cells with these values. The remaining axes have every combination of the fleet's cells of the same kind: with GPU code, or
 * without. A label of the fleet's own march keeps its `without`.
 *
 * Throws `USAGE` for an unknown axis or value, if no cell can be built, and if the fleet has all of them.
 *
 * @param what names the change in messages
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
    if (images.some((other) => differentAxes(other.axes, axes) === 0)) continue;
    const image = makeImage(id, axes, images, what);
    if (typeof image === "string") impossible.add(image);
    else added[id] = image;
  }
  if (Object.keys(added).length > 0) return added;
  const [reason] = impossible;
  throw usageError(
    reason === undefined ? `${what} adds nothing: the fleet has these cells` : `${what}: ${reason}`,
    reason === undefined ? "leave it out" : "name values that can be built, also of the other axes",
  );
}

/** The name of the accelerator axis: a fleet has one of two. */
function accelAxis(images: readonly LockedImage[]): "accel" | "cuda" {
  return images.some(({ axes }) => axes.accel !== undefined) ? "accel" : "cuda";
}

/** The id that a matrix would give, with the hardware axes first: a lock does not record the order of axes. */
function idOf({ accel, cuda, compute, march, ...free }: Axes): string {
  const values = [
    accel ?? cuda,
    compute === none ? undefined : compute,
    march,
    ...sortedEntries(free).map(([, value]) => value),
  ];
  return values.flatMap((value) => (value === undefined ? [] : [slug(value)])).join("_");
}

/** Each combination once. If the fleet has no cell of the kind, all cells give their remaining axes. */
function combinations(images: readonly LockedImage[], wanted: Axes): readonly Axes[] {
  const accel = wanted[accelAxis(images)];
  const cpuOnly = accel === none;
  const gpu = !cpuOnly && (accel !== undefined || wanted.compute !== undefined);
  const alike = images.filter(({ requires }) =>
    cpuOnly ? !needsGpus(requires) : !gpu || needsGpus(requires),
  );
  const base = (alike.length > 0 ? alike : images).map(({ axes }) => axes);
  const all = (base.length > 0 ? base : [{}]).map((axes) => ({
    ...axes,
    ...wanted,
    ...(cpuOnly ? { compute: none } : {}),
  }));
  return [...new Map(all.map((axes) => [JSON.stringify(Object.entries(axes).sort()), axes])).values()];
}

const at = { file: "--what-if" };

/** Answers with the reason if the cell is impossible. */
function makeImage(
  id: string,
  axes: Axes,
  images: readonly LockedImage[],
  what: string,
): LockedImage | string {
  const label = axes.march;
  if (label === undefined) throw usageError(`${what} names no march`, "add one: march=x86-64-v3");
  const sameMarch = images.find((image) => image.axes.march === label);
  const march = required<MarchValue>(parseMarchValue(sameMarch?.requires.cpu.march ?? label, at), what);
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
  // A march of the fleet keeps its `without` and the floor of its base images.
  const cpu: CpuRequirement = sameMarch?.requires.cpu ?? requires.cpu;
  return plannedImage({ id, axes, platform, requires: { ...requires, cpu } });
}

/** An accelerator of the fleet keeps its driver and the conditions of its base images. */
function accelOf(axes: Axes, images: readonly LockedImage[], what: string): AccelValue | null {
  const axis = accelAxis(images);
  const label = axes[axis];
  if (label === undefined) return null;
  const known = images.find((image) => image.axes[axis] === label)?.requires;
  const [side] = known === undefined ? [] : sidesOf(known);
  const release = side === undefined ? undefined : answerOfSide(releaseOf, side);
  const parsed = {
    cuda: () => parseCudaValue(release ?? label, at),
    accel: () =>
      parseAccelValue(
        side === undefined ? entryOf(label) : ({ [sideKeys[side.vendor]]: release } as ValueInput<"accel">),
        at,
      ),
  };
  const value = required<AccelValue>(parsed[axis](), what);
  return known === undefined ? value : keepNeeds(value, known);
}

/** A value of the axis `accel` by its label: `cuda-12.8.1`. */
function entryOf(label: string): ValueInput<"accel"> {
  const [, vendor, version] = /^(cuda|rocm)-(.*)$/.exec(label) ?? [];
  return vendor === undefined || version === undefined ? label : { [vendor]: version };
}

/** Splits the label of several targets, `8.6+8.9`, but not `9.0+ptx` or `gfx90a:xnack+`. */
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
