/** Finds axes that made no difference to the images that were built: some of the names of such an image promise what it is not. Pure. */

import type { Problem } from "../../errors.ts";
import type { ImageEffect } from "../../lock/image-audit.ts";
import { compareAmdTargets } from "../../hardware/amd-target.ts";
import { compareTargets } from "../../hardware/gpu-target.ts";
import { groupBy } from "../../io/collections.ts";
import { type GpuVendor, gpuVendors } from "../../hardware/gpu-vendors.ts";
import { listSome } from "../../resolve/misfit.ts";
import type { Cell } from "../cells/cell.ts";
import { vendorOfTarget } from "../matrix/gpu-axes.ts";
import { alikeCells, alikeFlavors, type Pair } from "../dockerfile/ignored-axes.ts";

export interface UnusedAxis {
  readonly problem: Problem;
  /** Ids of the cells that do not differ in it. */
  readonly cells: readonly string[];
}

interface MadeCell {
  readonly cell: Cell;
  readonly effect: ImageEffect;
}

type Axis = "march" | "compute" | "cuda" | "accel";

const fixes: Readonly<Record<Axis, string>> = {
  march:
    "see how the build compiles: a Makefile that assigns CC or CFLAGS itself takes neither from the environment (make CC=… CFLAGS=… does), and an ARG that nothing reads changes nothing; code that gains nothing from a march needs one value",
  compute:
    "see how the build compiles: it may choose its GPUs itself, or compile for none; hand it gpu.gencode or gpu.cmake of the view, for AMD gpu.offload",
  cuda: "begin the Dockerfile with the base of the cuda value, or leave the axis one value",
  accel: "begin the Dockerfile with the base of the accel value, or leave the axis one value",
};

const freeFix =
  "give each value another target or base, or an argument that a step reads; or leave the axis one value";

/**
 * `AUDIT_AXIS_UNUSED` for each axis. For a hardware axis the cells whose own files have no code for the value, and cells with other values
 * and equal programs and libraries, byte for byte, or equal layers. For a free axis the cells of equal layers and settings, as data and environment
 * may be the purpose of the axis. A cell that could not be opened is in no list.
 */
export function unusedAxes(made: readonly MadeCell[]): readonly UnusedAxis[] {
  const plain = made.filter(({ effect }) => effect.ignoresMarch).map(({ cell }) => cell.id);
  const uncompiled = made.filter(({ effect }) => effect.uncompiled.length > 0);
  const targets = [...new Set(uncompiled.flatMap(({ effect }) => effect.uncompiled))].sort(compareGpuTargets);
  const without = uncompiled.map(({ cell }) => cell.id);
  const none = new Set<string>();
  const reported = { march: new Set(plain), compute: new Set(without), cuda: none, accel: none };
  const codes = new Map(
    made.flatMap(({ cell, effect: { code, layers } }) => {
      const files = code ?? layers;
      return files === null ? [] : [[cell, files]];
    }),
  );
  const wholes = new Map(
    made.flatMap(({ cell, effect: { layers, settings } }) =>
      layers === null || settings === null ? [] : [[cell, `${layers} ${settings}`]],
    ),
  );
  const flavors = alikeFlavors([...wholes.keys()], (cell) => wholes.get(cell) ?? "");
  const alike = alikeCells([...codes.keys()], (cell) => codes.get(cell) ?? "").filter(
    ({ axis, one, other }) => !reported[axis].has(one.id) && !reported[axis].has(other.id),
  );
  return [
    ...unused(
      "march",
      plain,
      `no own file of ${listSome(plain, shown)} has an instruction beyond the baseline`,
    ),
    ...unused("compute", without, `no file of ${listSome(without, shown)} has code for ${listSome(targets)}`),
    ...alikeIn(alike, "no program or library of theirs does"),
    ...alikeIn(flavors, "no file and no setting of theirs does"),
  ];
}

const comparisons: Readonly<Record<GpuVendor, (a: string, b: string) => number>> = {
  nvidia: compareTargets,
  amd: compareAmdTargets,
};

/** NVIDIA's by number, then AMD's. */
function compareGpuTargets(a: string, b: string): number {
  const [vendor, other] = [vendorOfTarget(a), vendorOfTarget(b)];
  return vendor === other
    ? comparisons[vendor](a, b)
    : gpuVendors.indexOf(vendor) - gpuVendors.indexOf(other);
}

const shown = 4;

function alikeIn(pairs: readonly Pair[], same: string): readonly UnusedAxis[] {
  return [...groupBy(pairs, ({ axis }) => axis)].flatMap(([axis, alike]) => {
    const cells = [...new Set(alike.flatMap(({ one, other }) => [one.id, other.id]))];
    return unused(axis, cells, `${listSome(cells, shown)} differ in it, and ${same}`);
  });
}

function unused(axis: string, cells: readonly string[], why: string): readonly UnusedAxis[] {
  if (cells.length === 0) return [];
  const message = `${axis} makes no difference: ${why}`;
  return [
    { cells, problem: { code: "AUDIT_AXIS_UNUSED", message, fix: isHardware(axis) ? fixes[axis] : freeFix } },
  ];
}

function isHardware(axis: string): axis is Axis {
  return Object.hasOwn(fixes, axis);
}
