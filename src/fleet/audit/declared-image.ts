/** Says what a plan declares of each cell's image, for the code that opens it. */

import type { DeclaredImage } from "../../lock/image-audit.ts";
import type { LockedLocal } from "../../lock/lock.ts";
import { type ImageReference, parseImageReference, withDigest } from "../../oci/reference.ts";
import type { Plan, PlannedBase, PlannedCell } from "../plan/planned-cell.ts";
import { runBaseOf } from "../dockerfile/stages.ts";

export function declaredImages({ cells }: Pick<Plan, "cells">): (cell: string) => DeclaredImage | null {
  const byId = new Map(cells.map((planned) => [planned.cell.id, planned]));
  return (id) => {
    const planned = byId.get(id);
    return planned === undefined ? null : declaredImage(planned);
  };
}

/** null for a cell that is not to be built, or whose base has no digest. */
export function declaredImage(
  planned: Pick<PlannedCell, "cell" | "dockerfile" | "bases">,
): DeclaredImage | null {
  const { cell, dockerfile } = planned;
  if (dockerfile === null) return null;
  const { text, args } = dockerfile;
  const ref = runBaseOf(text, cell.settings.target?.value ?? null, { args, platform: cell.platform });
  const base = ref === "scratch" ? null : originOf(planned.bases, ref);
  if (base === undefined) return null;
  return { requires: cell.requires, floor: floorOf(planned), platform: cell.platform, base };
}

function originOf(bases: readonly PlannedBase[], ref: string): ImageReference | LockedLocal | undefined {
  const { used, digest, local } = bases.find((base) => base.ref === ref) ?? { used: ref, digest: null };
  if (digest === null) return undefined;
  return local === undefined ? withDigest(parseImageReference(used), digest) : { engine: local, id: digest };
}

/** The floor of the base, if it is of the cell's architecture. */
function floorOf({ cell: { accel, march } }: Pick<PlannedCell, "cell">): readonly string[] {
  const floor = accel?.cpuFloor ?? null;
  return floor !== null && floor.architecture === march.march.architecture ? floor.features : [];
}
