/** What makes the images of a whole plan: cell by cell with an engine, or at once with a tool that keeps a state of its own. */

import type { BuildContext } from "../io/context.ts";
import type { Cell } from "../plan/cell.ts";
import type { ExpandedCell } from "../plan/expand.ts";
import type { Plan } from "../plan/planned-cell.ts";
import type { RenderedFile } from "../render/render.ts";
import type { BuildWatch, BuiltImage, Engine } from "./engine.ts";
import type { Examiner } from "./examiner.ts";
import type { Publisher } from "./publisher.ts";
import type { BuildEvent, CellResult } from "./schedule.ts";

/** What images are built of, read and checked. */
export interface FleetSources {
  /** Folder of the matrix file; every relative path starts here. */
  readonly root: string;
  readonly cells: readonly ExpandedCell[];
  readonly contextDir: string;
  readonly context: BuildContext;
  /** What every build is given for `ARG`s without being an input of its image: proxies. */
  readonly passedArgs?: Readonly<Record<string, string>>;
  /** Renders a cell once and remembers it. */
  render(cell: Cell): RenderedFile;
}

export interface FleetBuilder {
  /** Throws what the builder throws before the first cell, and `WRITE_FAILED` or `LOCK_BUSY` for the lock. */
  build(plan: Plan, fleet: FleetSources, options: FleetBuildOptions): Promise<BuildSummary>;
  /** As `Engine.save`, of an image that this builder has made. */
  save(image: BuiltImage, watch: BuildWatch): AsyncIterable<Uint8Array>;
  /** As `Engine.push`; null where what is pushed to a loopback address does not come to this machine. */
  readonly push: Engine["push"] | null;
  /** As `Engine.layers`. */
  layers(image: BuiltImage, watch: BuildWatch): ReturnType<Engine["layers"]>;
  /** What `build` would change in the builder's own state; empty where it keeps none. */
  preview(
    plan: Plan,
    fleet: FleetSources,
    options: Pick<FleetBuildOptions, "publisher" | "revision" | "concurrency">,
  ): Promise<readonly StackPreview[]>;
}

export interface FleetBuildOptions {
  /** Where the images go; null to leave them in the engine. */
  readonly publisher: Publisher | null;
  /** Opens each image before it has its tag; null to leave them shut. */
  readonly examiner: Examiner | null;
  readonly lockFile: string;
  readonly logFolder: string;
  readonly concurrency: number;
  /** Commit of the sources, for a label; empty where there is none. */
  readonly revision: string;
  /** Time of each build, for the lock. */
  readonly now: () => Date;
  readonly onEvent?: (event: BuildEvent) => void;
  /** First interruption: start nothing new, finish pushes. */
  readonly drain?: AbortSignal;
  readonly stop?: AbortSignal;
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
