/** `imgmatch render`: one Dockerfile for each cell that can be built, and what is out of date. */

import { readDockerfiles, removeDockerfiles, writeDockerfiles } from "./dockerfile/dockerfiles.ts";
import type { Selection } from "./cells/select.ts";
import { type Drift, findDrift } from "./dockerfile/drift.ts";
import { checkedCells } from "./check-axes.ts";
import type { Fleet } from "./open-fleet.ts";

export interface RenderOptions {
  readonly only: readonly Selection[];
  /** Folder of the Dockerfiles. Default: the fleet's own. */
  readonly root?: string | undefined;
  /** Removes Dockerfiles of no cell. */
  readonly prune?: boolean | undefined;
}

export interface RenderedFleet {
  readonly rendered: number;
  /** Before anything was written. */
  readonly drift: Drift;
}

/** Writes nothing. A selection sees only its own cells: what belongs to the others is no orphan. */
export function checkFleet(fleet: Fleet, options: RenderOptions): RenderedFleet {
  const { files, drift } = renderAll(fleet, options);
  return { rendered: files.length, drift };
}

/** Writes what is missing or differs. */
export function renderFleet(fleet: Fleet, options: RenderOptions): RenderedFleet {
  const { files, drift } = renderAll(fleet, options);
  const { root = fleet.root, prune = false } = options;
  const stale = new Set([...drift.missing, ...drift.changed]);
  writeDockerfiles(
    root,
    files.filter(({ path }) => stale.has(path)),
  );
  if (prune) removeDockerfiles(root, drift.orphans);
  return { rendered: files.length, drift };
}

function renderAll(fleet: Fleet, { only, root = fleet.root }: RenderOptions) {
  const files = checkedCells(fleet, only).map((cell) => fleet.dockerfileOf(cell));
  const drift = findDrift(files, readDockerfiles(root));
  return { files, drift: only.length === 0 ? drift : { ...drift, orphans: [] } };
}
