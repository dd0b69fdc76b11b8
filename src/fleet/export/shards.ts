/** Cells that need work, divided among the jobs of a CI run. */

import { usageError } from "../../errors.ts";
import { compareText } from "../../io/collections.ts";

export interface ShardCell {
  /** Cell id. */
  readonly id: string;
  /** Jobs build for one platform each, so that each can run on a machine of that kind. */
  readonly platform: string;
  /** Base images: cells with the same ones share stages, and sharing ends at a job's border. */
  readonly bases: readonly string[];
}

export interface Shard {
  /** For people: `linux/amd64 3/8`. */
  readonly name: string;
  readonly platform: string;
  readonly cells: number;
  /** For `imgmatch build --only`. */
  readonly only: string;
}

/** GitHub's limits: jobs of one matrix, and bytes of one job's outputs. */
export const mostJobs = 256;
export const mostBytes = 1024 * 1024;
/** Linux takes no longer argument than 128 KiB (MAX_ARG_STRLEN). */
const longestOnly = 120 * 1024;

/**
 * At most `shards` jobs, more only where one job's list of cells would be too long for a command line. Cells are spread
 * over platforms by their number, and evenly within one: two jobs of a platform differ by one cell at most.
 *
 * Throws `USAGE` when there are more platforms than jobs, or more cells than GitHub takes in one matrix.
 */
export function shardCells(cells: readonly ShardCell[], shards: number): readonly Shard[] {
  const platforms = [...new Set(cells.map(({ platform }) => platform))].sort();
  const sorted = [...cells].sort(byBases);
  const groups = platforms.map((platform) => ({
    platform,
    group: sorted.filter((cell) => cell.platform === platform),
  }));
  const jobs = jobsPerGroup(
    groups.map(({ group }) => group.length),
    Math.min(shards, mostJobs),
  );
  const made = groups.flatMap(({ platform, group }, index) => {
    const longest = Math.ceil(group.map(({ id }) => id).join().length / longestOnly);
    return splitGroup(platform, group, Math.max(jobs[index] ?? 1, longest));
  });
  const bytes = Buffer.byteLength(JSON.stringify({ include: made }));
  if (made.length > mostJobs || bytes > mostBytes) {
    throw usageError(
      `${cells.length} cells make a matrix of ${made.length} jobs and ${bytes} bytes; GitHub takes ${mostJobs} and ${mostBytes}`,
      "divide the fleet between workflows with --only",
    );
  }
  return made;
}

function splitGroup(platform: string, group: readonly ShardCell[], jobs: number): Shard[] {
  return Array.from({ length: jobs }, (_, index) => {
    const part = group.slice(
      Math.round((index * group.length) / jobs),
      Math.round(((index + 1) * group.length) / jobs),
    );
    const only = part.map(({ id }) => id).join();
    return { name: `${platform} ${index + 1}/${jobs}`, platform, cells: part.length, only };
  });
}

/** Each group at least one job and none more than it has cells; the next job goes where most cells wait for one. */
function jobsPerGroup(sizes: readonly number[], shards: number): number[] {
  if (sizes.length > shards) {
    throw usageError(
      `the cells are for ${sizes.length} platforms, and each needs a job of its own; --shards is ${shards}`,
      `write --shards ${sizes.length} or more`,
    );
  }
  const jobs = sizes.map(() => 1);
  for (let left = shards - sizes.length; left > 0; left--) {
    const loads = sizes.map((size, index) => size / (jobs[index] ?? 1));
    const heaviest = loads.indexOf(Math.max(...loads));
    if ((loads[heaviest] ?? 0) <= 1) break;
    jobs[heaviest] = (jobs[heaviest] ?? 0) + 1;
  }
  return jobs;
}

function byBases(one: ShardCell, other: ShardCell): number {
  return compareText(one.bases.join(" "), other.bases.join(" ")) || compareText(one.id, other.id);
}
