/** The interface of a builder of all images of a plan: cell by cell with an engine, or at once with a tool that keeps a state. */

import type { ContextListing } from "../dockerfile/context.ts";
import type { Cell } from "../cells/cell.ts";
import type { ExpandedCell } from "../cells/expand.ts";
import type { Plan } from "../plan/planned-cell.ts";
import type { Engine } from "./engine.ts";
import type { BuildFleetOptions, CellResult } from "./schedule.ts";

export interface ContextFolder {
  readonly dir: string;
  readonly listing: ContextListing;
}

export interface FleetSources {
  /** Folder of the matrix file; every relative path starts here. */
  readonly root: string;
  readonly cells: readonly ExpandedCell[];
  folderOf(cell: Cell): ContextFolder;
  /** Values for `ARG`s of every build that are no input of its image: proxies. */
  readonly passedArgs?: Readonly<Record<string, string>>;
}

/**
 * The one that attests pushed images: the engine with its push, imgmatch beside it, or nobody, if an image has its tag before imgmatch
 * knows its digest.
 */
export type Attests = "engine" | "imgmatch" | "nobody";

/** `save` and `layers` are those of the engine, of an image that this builder has made. */
export interface FleetBuilder extends Pick<Engine, "save" | "layers"> {
  readonly attests: Attests;
  describe(): Promise<string>;
  /** Throws what the builder throws before the first cell, and `WRITE_FAILED` or `LOCK_BUSY` for the lock. */
  build(plan: Plan, fleet: FleetSources, options: FleetBuildOptions): Promise<BuildSummary>;
  /** As `Engine.push`; null where what is pushed to a loopback address does not come to this machine. */
  readonly push: Engine["push"] | null;
  /** The changes of `build` to the builder's state; empty if it keeps none. */
  preview(
    plan: Plan,
    fleet: FleetSources,
    options: Pick<FleetBuildOptions, "publisher" | "revision" | "concurrency">,
  ): Promise<readonly StackPreview[]>;
}

/** Without a publisher the images stay in the engine. */
export interface FleetBuildOptions extends Omit<BuildFleetOptions, "engine" | "onBuilt"> {
  readonly lockFile: string;
  /** Commit of the sources, for a label; empty where there is none. */
  readonly revision: string;
  readonly now: () => Date;
}

export interface BuildSummary {
  /** One per cell that was to be built, in the order of the plan. */
  readonly results: readonly CellResult[];
  readonly kept: number;
  readonly interrupted: boolean;
}

/** One part of a builder's state, and how many things of it each operation would change: `{ create: 3, same: 10 }`. */
export interface StackPreview {
  readonly stack: string;
  readonly changes: Readonly<Record<string, number>>;
}
