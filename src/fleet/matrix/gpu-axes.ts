/** Each vendor's words in a matrix: how its toolkits and GPU targets are written, and what images of them need. */

import type { Place, Problem } from "../../errors.ts";
import { answerOfSide, type BySide, type GpuSides, releaseOf, sidesOf } from "../../lock/requirement.ts";
import { type GpuVendor, gpuVendors } from "../../hardware/gpu-vendors.ts";
import { amdAxis } from "./amd-axis.ts";
import type { AccelValue, ComputeValue, GpuCode, Targets, Toolkits } from "./matrix.ts";
import type { Parsed } from "./matrix-problems.ts";
import { nvidiaAxis } from "./nvidia-axis.ts";
import type { ReleaseKey, ToolkitInput } from "./value-schemas.ts";

interface GpuAxis<Vendor extends GpuVendor> {
  /** The toolkit's name for people. */
  readonly name: string;
  /** The toolkit's key in a value of `accel`, and in templates. */
  readonly key: ReleaseKey;
  /** The axis that has toolkits of this vendor alone; null if only `accel` has them. */
  readonly axis: "cuda" | null;
  /** Settings of a value that such a toolkit has. */
  readonly takes: readonly (keyof ToolkitInput)[];
  /** True if a row may go without `compute`: its images have no GPU code of their own. */
  readonly goesWithoutCode: boolean;
  /** As YAML has them, for messages. */
  readonly examples: { readonly release: string; readonly target: string };
  /** The toolkit's full version; null for a text that is no version of it. */
  readonly releaseOf: (text: string) => string | null;
  /** The name in PyTorch's wheels: `cu128`. */
  readonly shortOf: (release: string) => string;
  readonly parseToolkit: (text: string, entry: ToolkitInput, at: Place) => Parsed<Toolkits[Vendor]>;
  /** null for a text that does not look like a target of the vendor. */
  readonly parseTarget: (text: string, at: Place) => Parsed<readonly Targets[Vendor][]> | null;
  /** The compiler's names of the targets. */
  readonly codeOf: (targets: readonly Targets[Vendor][]) => readonly string[];
  /** Targets that no compiler puts into one image. */
  readonly clashes: (targets: readonly Targets[Vendor][], at: Place) => readonly Problem[];
}

export const gpuAxes: { readonly [V in GpuVendor]: GpuAxis<V> } = { nvidia: nvidiaAxis, amd: amdAxis };

/** `{ cuda: "12.8.1" }` */
export function exampleOf(vendor: GpuVendor, release = gpuAxes[vendor].examples.release): string {
  return `{ ${gpuAxes[vendor].key}: "${release}" }`;
}

/** The vendor of a target as a matrix or a compiler writes it. A word that looks like no target counts as the first vendor's. */
export function vendorOfTarget(text: string): GpuVendor {
  const at = { file: "" };
  return gpuVendors.find((vendor) => gpuAxes[vendor].parseTarget(text, at) !== null) ?? gpuVendors[0];
}

/** What an image decides beside its toolkit's version. */
const kept: BySide<object> = {
  nvidia: ({ driver, require = null }) => ({ driver, require }),
  amd: () => ({}),
};

/** The toolkit of an image's first GPU side; undefined for an image without GPU code. */
export function toolkitOf(requires: GpuSides) {
  const [found] = sidesOf(requires).map((side) => ({
    ...gpuAxes[side.vendor],
    release: answerOfSide(releaseOf, side),
  }));
  return found;
}

/** The value with the driver and the conditions of an image. */
export function keepNeeds(value: AccelValue, requires: GpuSides): AccelValue {
  const { gpu } = value;
  const side = sidesOf(requires).find(({ vendor }) => vendor === gpu?.vendor);
  if (gpu === null || side === undefined) return value;
  return { ...value, gpu: { ...gpu, toolkit: { ...gpu.toolkit, ...answerOfSide(kept, side) } } };
}

/** A question with each vendor's answer about its GPU code. */
export type ByCode<Answer, Asked extends readonly unknown[] = []> = {
  readonly [V in GpuVendor]: (code: GpuCode<V>, ...asked: Asked) => Answer;
};

/** The vendor's answer about the GPU code of cells with these values; null for cells without GPU code. */
export function answerAbout<Answer, Asked extends readonly unknown[]>(
  answers: ByCode<Answer, Asked>,
  accel: AccelValue | null,
  compute: ComputeValue | null,
  ...asked: Asked
): Answer | null {
  const gpu = accel?.gpu;
  if (gpu == null || gpu.vendor !== compute?.vendor) return null;
  // The targets of a value are its vendor's.
  const ask = answers[gpu.vendor] as (code: object, ...asked: Asked) => Answer;
  return ask({ ...gpu, targets: compute.targets }, ...asked);
}
