/** Infers x86 features that Linux does not print from vendor, family and model of the CPU. */

import { marchesOfModel } from "./cpu-models.ts";
import table from "./cpu-hidden-features.json" with { type: "json" };
import { compareVersions, type VersionParts } from "./driver-version.ts";
import { readRows, type SourcedRow } from "./read-rows.ts";

/**
 * Names that Linux 6.12 never prints in `flags`: it prints a feature only when the comment of its line in
 * arch/x86/include/asm/cpufeatures.h begins with a quoted name. Other kernels may print some of them.
 * For x86 alone: on Arm, Linux prints sha512, sm3 and sm4.
 */
export const hiddenFeatures: ReadonlySet<string> = new Set(
  "amx_complex amx_fp16 avx_ifma avx_ne_convert avx_vnni_int16 avx_vnni_int8 cmpccxadd hreset kl pconfig prefetchi prefetchwt1 ptwrite raoint sha512 sm3 sm4 uintr usermsr widekl".split(
    " ",
  ),
);

/**
 * The hidden features of a CPU model; empty for a model that is in no table, as unknown counts as absent.
 *
 * @param vendor `vendor_id` of /proc/cpuinfo
 * @param family `cpu family`
 * @param model `model`, decimal in /proc/cpuinfo
 * @param visible the features that the kernel prints; a hidden feature counts only beside the visible feature that it extends, as a
 *   hypervisor masks all of AMX or nothing of AMX
 */
export function inferHiddenFeatures(
  vendor: string,
  family: number,
  model: number,
  visible: readonly string[],
): readonly string[] {
  const row = hiddenFeatureRows.find(
    (each) => each.vendor === vendor && each.family === family && each.models.includes(model),
  );
  return (row?.features ?? []).filter((feature) => visible.includes(extendedFeature(feature)));
}

/** RISC-V extensions that were part of `i`. Newer kernels print each by its name (Linux, commit 07edc32779e3). */
const formerlyBase = ["zicntr", "zicsr", "zifencei", "zihpm"];

/**
 * Features, and a kernel that prints each. Older kernels may print no name for the feature although the CPU has the feature. The first kernel
 * with the name may be older than the one here.
 */
export const printedFrom: Readonly<Record<string, VersionParts>> = {
  rdpid: [4, 19],
  ...Object.fromEntries(formerlyBase.map((extension) => [extension, [6, 5]])),
};

/** True if a kernel of this version may be silent about a feature that the CPU has. */
export function mayBeUnprinted(feature: string, kernel: VersionParts): boolean {
  const from = Object.hasOwn(printedFrom, feature) ? printedFrom[feature] : undefined;
  return from !== undefined && compareVersions(kernel, from) < 0;
}

/** The former parts of RISC-V's `i` that have no name in this kernel. */
export function inferOfBase(visible: readonly string[], kernel: VersionParts): readonly string[] {
  return visible.includes("i") ? formerlyBase.filter((feature) => mayBeUnprinted(feature, kernel)) : [];
}

/** The features of an AMD model that this kernel prints under no name. They count if the kernel prints all other features of the CPU's march. */
export function inferUnprinted(
  vendor: string,
  family: number,
  model: number,
  visible: readonly string[],
  kernel: VersionParts,
): readonly string[] {
  const march = vendor === "AuthenticAMD" ? marchesOfModel(vendor, family, model)[0] : undefined;
  const silent = (march?.features ?? []).filter((feature) => !visible.includes(feature));
  return silent.every((feature) => mayBeUnprinted(feature, kernel)) ? silent : [];
}

export interface HiddenFeatureRow extends SourcedRow {
  readonly vendor: string;
  readonly family: number;
  readonly models: readonly number[];
  readonly march: string;
  readonly features: readonly string[];
}

/**
 * Only features that an image can need. Model 0xc6 (Arrow Lake-S): tests/targets/linux-ubuntu26.04-arrowlake_s, where a newer
 * kernel prints them. AMD publishes no model for its one hidden feature, the hint prefetchi.
 */
export const hiddenFeatureRows = readRows<HiddenFeatureRow>(table.rows);

/** The visible feature that a hidden one extends. */
export function extendedFeature(feature: string): string {
  if (feature.startsWith("amx_")) return "amx_tile";
  return feature === "cmpccxadd" ? "lm" : "avx_vnni";
}
