/** Kernels on which AMD supports a release of ROCm for a GPU target, where AMD makes a difference. */

import table from "./amd-kernels.json" with { type: "json" };
import { compareVersions, parseVersion, type VersionParts } from "./driver-version.ts";
import { readRows, type SourcedRow } from "./read-rows.ts";

type Support = "yes" | "unstable" | "no";

export interface KernelRow extends SourcedRow {
  /** `gfx1151`. */
  readonly target: string;
  /** Of ROCm: `7.1` is every 7.1. */
  readonly release: string;
  /** Kernels before it, and it and all newer ones. */
  readonly kernel: string;
  readonly before: Support;
  readonly from: Support;
}

export const kernelRows = readRows<KernelRow>(table.kernels);

/** AMD's word for a release of ROCm on a target; null where AMD makes no difference. Of `7.2`, which may be any of them, the first row counts. */
export function kernelSupport(target: string | null, release: string, host: VersionParts) {
  const own = parseVersion(release) ?? [];
  const row = kernelRows.find((each) => {
    const named = parseVersion(each.release) ?? [];
    const length = Math.min(own.length, named.length);
    const isSame = compareVersions(own.slice(0, length), named.slice(0, length)) === 0;
    return each.target === target && length > 1 && isSame;
  });
  if (row === undefined) return null;
  const isFrom = compareVersions(host, parseVersion(row.kernel) ?? []) >= 0;
  return { row, isFrom, word: isFrom ? row.from : row.before };
}
