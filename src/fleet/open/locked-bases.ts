/** Reads in a lock the bases that images were built on. */

import type { LockedBase, LockedBaseConfig, LockPins } from "../../lock/lock.ts";
import { digestOf } from "../../oci/digest-of.ts";
import type { PlannedBase } from "../plan/planned-cell.ts";
import type { CellWithDockerfile } from "./cell-dockerfile.ts";

export interface LockedBases {
  /** The pin of a base for a cell: its own, or one of another cell. Null for a base that the lock does not have. */
  readonly pinOf: (ref: string, cellId: string) => LockedBase | null;
  /**
   * The configuration of a base. Null if the cell was built on the base while nobody could read it: the image is not built again when
   * somebody can. Undefined if the lock does not decide.
   */
  readonly configOf: (base: PlannedBase, of: CellWithDockerfile) => LockedBaseConfig | null | undefined;
}

/** A lock pins bases: a tag that moves changes nothing until somebody updates the bases. */
export function lockedBases(lock: LockPins | null): LockedBases {
  const images = Object.values(lock?.images ?? {});
  const pins = new Map<string, LockedBase>();
  // `lock --update-bases` wrote `nextBases`: they go before the bases that images were built on.
  const next = images.flatMap(({ nextBases = [] }) => nextBases);
  for (const base of [...next, ...images.flatMap(({ bases }) => bases)])
    if (!pins.has(base.ref)) pins.set(base.ref, base);
  const configs = new Map<string, LockedBaseConfig>();
  for (const { platform, bases, nextBases = [] } of images) {
    for (const { ref, digest, config } of [...nextBases, ...bases])
      if (config !== undefined) configs.set(`${ref} ${digest} ${platform}`, config);
  }
  return {
    pinOf: (ref, cellId) => {
      const { bases = [], nextBases = [] } = lock?.images[cellId] ?? {};
      return [...nextBases, ...bases].find((base) => base.ref === ref) ?? pins.get(ref) ?? null;
    },
    configOf: ({ used, digest }, { cell, dockerfile }) => {
      const found = configs.get(`${used} ${digest} ${cell.platform}`);
      if (found !== undefined) return found;
      const image = lock?.images[cell.id];
      const isBuiltOn = image?.bases.some((base) => base.ref === used && base.digest === digest) ?? false;
      return isBuiltOn && image?.inputs?.dockerfile === digestOf(dockerfile.bare) ? null : undefined;
    },
  };
}
