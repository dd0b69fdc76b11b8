/** `imgmatch export github-matrix`: the cells of a plan that need work, divided among jobs. */

import { type Shard, shardCells } from "./export/shards.ts";
import type { Plan } from "./plan/planned-cell.ts";

/** At most `shards` jobs, more only where one job's list of cells would be too long for a command line. */
export function shardPlan({ cells }: Pick<Plan, "cells">, shards: number): readonly Shard[] {
  const open = cells.filter(({ action }) => action === "build" || action === "adopt");
  return shardCells(
    open.map(({ cell: { id, platform }, bases }) => ({ id, platform, bases: bases.map(({ used }) => used) })),
    shards,
  );
}
