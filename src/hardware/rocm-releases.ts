/** Releases of ROCm, and the GPU targets that their compilers have. */

import { compareVersionTexts, minorOf } from "./driver-version.ts";
import { readRows, type SourcedRow } from "./read-rows.ts";
import table from "./rocm-releases.json" with { type: "json" };

/** A target, and the releases whose compiler has it. The releases between two known ones are unknown. */
export interface RocmTarget extends SourcedRow {
  /** The target's name without features. */
  readonly name: string;
  /** The oldest release that is known to compile it. */
  readonly first: string;
  /** The newest release that is known not to compile it yet; null if no source tells. */
  readonly lacking: string | null;
  /** The oldest release that is known not to compile it any more; null if no source tells. */
  readonly dropped: string | null;
}

/** Sorted by name. */
export const rocmTargets = readRows<RocmTarget>(table.targets);

/** A release as people write it: `7.2`, `7.2.1`. */
export function isRocmRelease(text: string): boolean {
  return /^\d{1,2}\.\d{1,2}(\.\d{1,2})?$/.test(text);
}

/** The name in PyTorch's wheels: `rocm7.2`. */
export function shortRocm(release: string): string {
  return `rocm${minorOf(release)}`;
}

export type RocmCompiles =
  | { readonly compiles: true }
  /** `does`: the oldest release that compiles it; `since`: the first release that no longer does. */
  | { readonly compiles: false; readonly does: string; readonly since: string | null }
  /** Unknown. */
  | { readonly compiles: null };

/**
 * Tells if the compiler of a release has the target, by the first two numbers of the release.
 *
 * @example
 * rocmCompiles("6.2.4", "gfx1201"); // { compiles: false, does: "6.4", since: null }
 */
export function rocmCompiles(release: string, target: string): RocmCompiles {
  const row = rocmTargets.find(({ name }) => name === target.split(":")[0]);
  if (row === undefined) return { compiles: null };
  const { first: does, lacking, dropped } = row;
  if (lacking !== null && order(release, lacking) <= 0) return { compiles: false, does, since: null };
  if (dropped !== null && order(release, dropped) >= 0) return { compiles: false, does, since: dropped };
  return { compiles: order(release, does) >= 0 && order(release, table.newestRead) <= 0 ? true : null };
}

function order(one: string, other: string): number {
  return compareVersionTexts(minorOf(one), minorOf(other));
}
