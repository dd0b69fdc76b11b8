/** Builds many cells at once: bounded, each by itself, nothing lost when it is interrupted. */

import { setMaxListeners } from "node:events";
import pLimit from "p-limit";
import type { BuiltCell, CellResult } from "../engines/built-cell.ts";
import type { BuildJob } from "../engines/jobs.ts";
import { buildCell, type CellOptions } from "./build-cell.ts";

export interface FinishedJob {
  readonly job: BuildJob;
  readonly built: BuiltCell;
}

export interface BuildJobsOptions extends Omit<CellOptions, "drain" | "stop"> {
  readonly concurrency: number;
  /** Called with all that has finished since the call before, one call after the other. An error of it ends the build. */
  readonly onBuilt: (finished: readonly FinishedJob[]) => Promise<void>;
  /** First interruption: nothing new starts, builds end; pushes are finished, and what they push is opened. */
  readonly drain?: AbortSignal | undefined;
  /** Second interruption: pushes end too. */
  readonly stop?: AbortSignal;
}

/**
 * Builds all jobs, and answers a result for each; a failing one does not stop the others.
 * Throws only what `onBuilt` throws, and bugs.
 */
export async function buildJobs(
  jobs: readonly BuildJob[],
  { concurrency, onBuilt, ...options }: BuildJobsOptions,
): Promise<readonly CellResult[]> {
  const fatal = new AbortController();
  const stop = anySignal(options.stop);
  const drain = anySignal(options.drain, options.stop, fatal.signal);
  const limit = pLimit(concurrency);
  const record = groupWrites(onBuilt);

  async function buildOne(job: BuildJob): Promise<CellResult> {
    try {
      // While it is recorded, others are built: writing the lock of a large fleet takes a while.
      const built = await limit(buildCell, job, { ...options, drain, stop });
      if (built.status !== "built") return built;
      await record({ job, built });
      options.onEvent({ type: "done", ...built });
      return built;
    } catch (error) {
      // Not this cell's fault: going on would lose results. Pushes under way still end and are recorded.
      fatal.abort(error);
      return { status: "interrupted", cell: job.cell };
    }
  }

  const results = await Promise.all(jobs.map(buildOne));
  if (fatal.signal.aborted) throw fatal.signal.reason;
  return results;
}

function anySignal(...signals: readonly (AbortSignal | undefined)[]): AbortSignal {
  const signal = AbortSignal.any(signals.filter((one) => one !== undefined));
  // Each running cell listens; Node takes more than ten listeners for a leak.
  setMaxListeners(0, signal);
  return signal;
}

/**
 * Returns a function that ends when its item is written. Writes never overlap; one that fails fails for its own items, and
 * the next is tried all the same.
 */
export function groupWrites<Item>(
  write: (items: readonly Item[]) => Promise<void>,
): (item: Item) => Promise<void> {
  let waiting: Item[] = [];
  let next: Promise<void> | null = null;
  let last: Promise<void> = Promise.resolve();
  const writeWaiting = () => {
    const items = waiting;
    waiting = [];
    next = null;
    return write(items);
  };
  return (item) => {
    waiting.push(item);
    if (next === null) {
      next = last.catch(() => {}).then(writeWaiting);
      last = next;
    }
    return next;
  };
}
