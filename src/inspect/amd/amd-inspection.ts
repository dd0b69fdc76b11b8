/** Counts AMD's GPU code of a file: targets, and code that is unknown. */

import { compareAmdTargets } from "../../hardware/amd-target.ts";
import { count, createCodeTally, sortedCounts } from "../tally.ts";
import type { AmdImage } from "./code-object.ts";

export interface AmdCode {
  /** Bundles and lone code objects: the runtime chooses in each of them. */
  readonly modules: number;
  /** Bytes in the file. */
  readonly bytes: number;
  readonly targets: readonly AmdTargetCount[];
  /** LLVM IR and objects for the device linker: no GPU runs them. */
  readonly unlinked: number;
  /** Unknown code objects by their reason, `machine value 0x7f`: they may be for any target. */
  readonly unknown: Readonly<Record<string, number>>;
  /** Modules by section; `file` stands for no section. */
  readonly places: Readonly<Record<string, number>>;
  readonly damage: readonly string[];
}

export interface AmdTargetCount {
  /** `gfx90a:sramecc+:xnack-`, `gfx11-generic`, `amdgcnspirv`. */
  readonly target: string;
  /** The version of a generic target: a GPU that joined in a newer version does not run this code. null for other targets. */
  readonly version: number | null;
  readonly modules: number;
}

export type AmdTally = ReturnType<typeof createAmdTally>;

export function createAmdTally() {
  const { add, result, ...all } = createCodeTally();
  const targets = new Map<string, AmdTargetCount>();
  const unknown = new Map<string, number>();
  let unlinked = 0;
  return {
    ...all,
    add(place: string, bytes: number, images: readonly AmdImage[]) {
      add(place, bytes);
      const seen = new Set<string>();
      for (const image of images) {
        if (image.kind === "unknown") count(unknown, image.what);
        else if (image.kind === "unlinked") unlinked++;
        else {
          const { target, version } = image;
          const key = `${target} ${version}`;
          const before = targets.get(key)?.modules ?? 0;
          if (!seen.has(key)) targets.set(key, { target, version, modules: before + 1 });
          seen.add(key);
        }
      }
    },
    result: (): AmdCode | null =>
      result({
        targets: [...targets.values()].sort(byAmdTarget),
        unlinked,
        unknown: sortedCounts(unknown),
      }),
  };
}

export function byAmdTarget(a: AmdTargetCount, b: AmdTargetCount): number {
  return compareAmdTargets(a.target, b.target) || (a.version ?? 0) - (b.version ?? 0);
}
