/** Writes one Dockerfile for each possible cell, or checks the Dockerfiles on disk. */

import { inWorld, type Watching, type World } from "../io/world.ts";
import { readDockerfiles, removeDockerfiles, writeDockerfiles } from "./dockerfile/dockerfiles.ts";
import { type Drift, findDrift } from "./dockerfile/drift.ts";
import type { HostServices } from "./host-services.ts";
import { type FleetChoice, fleetAt } from "./open/fleet-choice.ts";
import type { Selection } from "./cells/select.ts";
import type { RenderedFile } from "./dockerfile/render-cell.ts";
import { checkedCells, type Fleet } from "./open/open-fleet.ts";
import { prepareBuild } from "./open/prepare-build.ts";

export interface RenderOptions
  extends Pick<FleetChoice, "matrix" | "only" | "registry" | "buildArg">,
    Watching {
  /** Write nothing; answer with the Dockerfiles that are out of date. */
  readonly check?: boolean;
  /** Remove Dockerfiles that belong to no cell. */
  readonly prune?: boolean;
  /** Folder to write to. Default: the matrix's own. */
  readonly out?: string;
}

export interface RenderAnswer {
  readonly schemaVersion: 1;
  /** The number of Dockerfiles. */
  readonly rendered: number;
  /** Dockerfiles that were missing or different. */
  readonly written: readonly string[];
  readonly removed: readonly string[];
  /** Dockerfiles that belong to no cell and are still there. */
  readonly orphans: readonly string[];
}

/** With `check`. */
export interface RenderCheck extends Drift {
  readonly schemaVersion: 1;
  readonly rendered: number;
}

/**
 * Writes the Dockerfiles that are missing or differ; with `check`, none. With a selection, Dockerfiles of other cells are no orphans. Throws
 * every mistake of the matrix at once, and `TEMPLATE_…`.
 *
 * @example
 * const { written } = await render({ prune: true });
 */
export interface RenderFunction {
  (options: RenderOptions & { readonly check: true }, world?: Partial<World>): Promise<RenderCheck>;
  (options?: RenderOptions & { readonly check?: false }, world?: Partial<World>): Promise<RenderAnswer>;
}

export function renderWith(ports: HostServices): RenderFunction {
  const face = (asked: RenderOptions = {}, given?: Partial<World>): Promise<RenderAnswer | RenderCheck> =>
    inWorld(asked, given, (world) => renderIn(asked, world), ports);
  return face as RenderFunction;
}

async function renderIn(
  asked: RenderOptions,
  world: World & HostServices,
): Promise<RenderAnswer | RenderCheck> {
  const { fleet, lockFile, only } = await fleetAt(asked, world);
  const { out: root = fleet.root, prune = false, check = false } = asked;
  const cells = checkedCells(fleet, only);
  const rendered = cells.map((cell) => fleet.dockerfileOf(cell));
  // A guard repeats the program of the base, which a plan reads.
  const isWhole = rendered.every(({ start }) => start === null);
  const files = isWhole ? rendered : await plannedFiles(fleet, only, lockFile, world);
  const drift = findDrift(files, readDockerfiles(root));
  const head = { schemaVersion: 1, rendered: files.length } as const;
  const orphans = only.length === 0 ? drift.orphans : [];
  if (check) return { ...head, ...drift, orphans };
  const stale = new Set([...drift.missing, ...drift.changed]);
  const written = files.filter(({ path }) => stale.has(path));
  writeDockerfiles(root, written);
  if (prune) removeDockerfiles(root, orphans);
  return {
    ...head,
    written: [...stale].sort(),
    removed: prune ? orphans : [],
    orphans: prune ? [] : orphans,
  };
}

/** Throws `BASE_UNRESOLVED` for a base whose program a guard repeats and nobody can read. */
async function plannedFiles(
  fleet: Fleet,
  only: readonly Selection[],
  lockFile: string,
  world: World,
): Promise<readonly RenderedFile[]> {
  const { plan } = await prepareBuild(fleet, { only, lockFile, bases: {}, push: false }, world);
  return plan.cells.flatMap(({ dockerfile }) => dockerfile ?? []);
}
