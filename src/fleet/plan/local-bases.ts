/** Finds base images of a plan that only an engine has, and warns of publishing images on them. */

import type { Problem } from "../../errors.ts";
import type { LockedLocal } from "../../lock/lock.ts";
import { remember } from "../../io/collections.ts";
import type { Plan } from "./planned-cell.ts";

export interface LocalBaseUse extends LockedLocal {
  readonly ref: string;
  /** Cells that are built on it. */
  readonly cells: readonly string[];
}

/** The local bases of cells that will be built. Images that another fleet of the workspace has built are not among them. */
export function localBases({ cells }: Pick<Plan, "cells">): readonly LocalBaseUse[] {
  const uses = new Map<string, LocalBaseUse & { cells: string[] }>();
  for (const { cell, action, bases } of cells) {
    if (action !== "build") continue;
    for (const { used, digest, local, parent } of bases) {
      if (local === undefined || digest === null || parent !== undefined) continue;
      const use = () => ({ ref: used, engine: local, id: digest, cells: [] });
      remember(uses, `${used} ${digest}`, use).cells.push(cell.id);
    }
  }
  return [...uses.values()];
}

export function publishedOnLocal(plan: Pick<Plan, "cells">): readonly Problem[] {
  return localBases(plan).map(({ ref, engine, id, cells }) => ({
    code: "BASE_LOCAL",
    message: `the base ${ref} of ${cells.length === 1 ? cells[0] : `${cells.length} images`} is in no registry: the images run anywhere, as they hold the base's layers, but only ${engine} on this machine has ${id} to build the images again`,
    fix: "push the base, and build on the registry's image: --replace-base OLD=NEW",
  }));
}
