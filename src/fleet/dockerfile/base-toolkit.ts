/** The GPU toolkit of a base image, read in its name. An image keeps the toolkit of its base, so a cell declares the toolkit too. */

import type { Place, Problem } from "../../errors.ts";
import { vendorsOf } from "../../lock/requirement.ts";
import { type GpuVendor, gpuVendors } from "../../hardware/gpu-vendors.ts";
import type { Cell } from "../cells/cell.ts";
import { exampleOf, gpuAxes } from "../matrix/gpu-axes.ts";

export interface BaseToolkit {
  readonly vendor: GpuVendor;
  /** null if the name has no version: `nvidia/cuda:latest`. */
  readonly version: string | null;
}

/**
 * Capture the version in a reference, or its parts, or an empty text where the name of an image of the vendor has none. Sources:
 * hub.docker.com/r/nvidia/cuda, hub.docker.com/u/rocm, hub.docker.com/r/pytorch/pytorch, catalog.ngc.nvidia.com ("Frameworks")
 */
const patterns: Readonly<Record<GpuVendor, readonly RegExp[]>> = {
  nvidia: [
    /(?:^|\/)nvidia\/cuda:v?(\d+\.\d+(?:\.\d+)?)/,
    // A team may have an image named cuda: the tag has CUDA's version where NVIDIA writes such a tag, as 12.9.0-devel-ubuntu24.04.
    /(?:^|\/)cuda:(\d+\.\d+(?:\.\d+)?)(?=-(?:cudnn\d*-)?(?:base|runtime|devel)(?:-|@|$))/,
    /:(?:[^\s:]*[-_.])?cuda-?(\d+\.\d+(?:\.\d+)?)/,
    // cuda1281 and cu1281 are 12.8.1. PyTorch's cu128 tells of wheels, which need no such base.
    /:(?:[^\s:]*[-_.])?(?:cuda-?(?=\d{3,4}(?!\w))|cu(?=\d{4}(?!\w)))(\d\d)(\d)(\d?)/,
    /(?:^|\/)nvidia\/(?:cuda|pytorch|tensorflow|tensorrt|tritonserver)(?=[:@]|$)()/,
  ],
  amd: [
    /:(?:[^\s:]*[-_.])?rocm-?(\d+\.\d+(?:\.\d+)?)/,
    /(?:^|\/)rocm\/[^/:]+:(\d+\.\d+(?:\.\d+)?)(?=[-@]|$)/,
    /(?:^|\/)rocm\/[^/:@]+()/,
  ],
};

/**
 * null for an image whose name tells no toolkit.
 *
 * @example
 * readBaseToolkit("nvidia/cuda:12.9.0-devel-ubuntu24.04"); // { vendor: "nvidia", version: "12.9.0" }
 */
export function readBaseToolkit(ref: string): BaseToolkit | null {
  for (const vendor of gpuVendors) {
    for (const pattern of patterns[vendor]) {
      const found = pattern.exec(ref);
      if (found !== null) return { vendor, version: found.slice(1).filter(Boolean).join(".") || null };
    }
  }
  return null;
}

/** `CUDA 12.9.0`, `ROCm` */
export function formatToolkit({ vendor, version }: BaseToolkit): string {
  return [gpuAxes[vendor].name, version].filter((part) => part !== null).join(" ");
}

/** The mistake of a cell that is declared as an image without the toolkit of its base: hosts would be told to keep their GPUs from it. */
export function undeclaredToolkit(cell: Cell, base: string, at: Place): readonly Problem[] {
  const toolkit = readBaseToolkit(base);
  if (toolkit === null || vendorsOf(cell.requires).includes(toolkit.vendor)) return [];
  const { name, axis } = gpuAxes[toolkit.vendor];
  const version = toolkit.version ?? "…";
  const row = axis === null ? exampleOf(toolkit.vendor, version) : `{ toolkit: "${version}" }`;
  const message = `cell ${cell.id} declares no ${name}, and its base ${base} has ${formatToolkit(toolkit)}`;
  const fix = `give the cell the row ${row} in the axis ${axis ?? "accel"}, or a base without ${name}`;
  return [{ code: "BASE_TOOLKIT_UNDECLARED", message, fix, at }];
}
