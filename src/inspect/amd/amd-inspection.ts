/** Counts AMD's GPU code of a file: targets, and code that is unknown. */

import { compareAmdTargets } from "../../hardware/amd-target.ts";
import { groupBy } from "../../io/collections.ts";
import { count, createCodeTally, sortedCounts } from "../tally.ts";
import type { AmdImage } from "./code-object.ts";

export interface AmdCode {
  /** Bundles and lone code objects: the runtime chooses in each of them. */
  readonly modules: number;
  /** Bytes in the file. */
  readonly bytes: number;
  /**
   * Of `bytes`, those of each target, as the file has them: `gfx942`, `unlinked`, `unknown`. Targets whose code is compressed as one stand
   * together: `gfx90a,gfx942`. Headers and padding of bundles are of no target.
   */
  readonly sizes: Readonly<Record<string, number>>;
  readonly targets: readonly AmdTargetCount[];
  /** LLVM IR and objects for the device linker: no GPU runs them. */
  readonly unlinked: number;
  /** Unknown code objects by their reason, `machine value 0x7f`: they may be for any target. */
  readonly unknown: Readonly<Record<string, number>>;
  /** Modules by section; `file` stands for no section. */
  readonly places: Readonly<Record<string, number>>;
  readonly damage: readonly string[];
  /** Where a program's code is that has it in archives. */
  readonly elsewhere?: ArchiveReference;
  /** The programs' code in such an archive. */
  readonly archive?: readonly ArchivedCode[];
}

/** A program's code in such an archive. */
export interface ArchivedCode {
  /** The program's path as it was packed; `#2` behind it stands for the third of several pieces. */
  readonly name: string;
  readonly targets: readonly string[];
}

/** The archives in which a program's code is. */
export interface ArchiveReference {
  /** The program's name in the archives. */
  readonly name: string;
  /** Relative to the program's folder; `@GFXARCH@` stands for a target. */
  readonly paths: readonly string[];
}

export interface AmdTargetCount {
  /** `gfx90a:sramecc+:xnack-`, `gfx11-generic`, `amdgcnspirv`. */
  readonly target: string;
  /** The version of a generic target: a GPU that joined in a newer version does not run this code. null for other targets. */
  readonly version: number | null;
  readonly modules: number;
}

/** `bytes`: in the file. */
export type SizedImage = AmdImage & { readonly bytes?: number };

function sizeName(image: AmdImage): string {
  return image.kind === "code" ? image.target : image.kind;
}

export type AmdTally = ReturnType<typeof createAmdTally>;

export function createAmdTally() {
  const { add, measure, result, ...all } = createCodeTally();
  const targets = new Map<string, AmdTargetCount>();
  const unknown = new Map<string, number>();
  let unlinked = 0;
  return {
    ...all,
    /** Images without a size of their own are compressed as one. */
    add(place: string, bytes: number, images: readonly SizedImage[]) {
      add(place, bytes);
      for (const [size, found] of groupBy(images, (image) => image.bytes ?? null))
        if (size === null) measure(found.map(sizeName).sort(compareAmdTargets), bytes);
        else for (const image of found) measure([sizeName(image)], size);
      if (images.length === 0) measure(["unknown"], bytes);
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
