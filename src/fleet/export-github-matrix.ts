/** The cells that need work, divided among the jobs of a GitHub workflow. */

import { usageError } from "../errors.ts";
import { compareFirst, compareText, groupBy } from "../io/collections.ts";
import { inWorld, type Watching, type World } from "../io/world.ts";
import type { CellSettings } from "./cells/cell-settings.ts";
import type { HostServices } from "./host-services.ts";
import { type FleetChoice, fleetAt } from "./open/fleet-choice.ts";
import { prepareBuild } from "./open/prepare-build.ts";

export interface GithubMatrixOptions extends FleetChoice, Watching {
  /** Jobs at most, more only where one job's list of cells would be too long for a command line. Default: 16. */
  readonly shards?: number;
}

/** As `strategy.matrix` takes it. */
export interface GithubMatrix {
  readonly include: readonly Shard[];
}

/**
 * Divides the cells that `build --push` would build among jobs. Throws as `plan`, and every failure to read a base image's digest.
 *
 * @example
 * const { include } = await exportGithubMatrix({ shards: 8 });
 */
export type ExportGithubMatrixFunction = (
  asked?: GithubMatrixOptions,
  given?: Partial<World>,
) => Promise<GithubMatrix>;

export function exportGithubMatrixWith(ports: HostServices): ExportGithubMatrixFunction {
  return (asked = {}, given) => inWorld(asked, given, (world) => exportGithubMatrixIn(asked, world), ports);
}

async function exportGithubMatrixIn(
  asked: GithubMatrixOptions,
  world: World & HostServices,
): Promise<GithubMatrix> {
  const { fleet, lockFile, only } = await fleetAt(asked, world);
  const { plan } = await prepareBuild(fleet, { only, lockFile, bases: asked, push: true }, world);
  const toBuild = plan.cells.filter(({ action }) => action === "build" || action === "adopt");
  const cells = toBuild.map(({ cell: { id, platform, settings }, bases }) => ({
    id,
    platform,
    machine: machineOf(settings),
    bases: bases.map(({ used }) => used),
  }));
  return { include: shardCells(cells, asked.shards ?? 16) };
}

function machineOf({ runner, timeoutMinutes, freeDisk }: CellSettings): Machine {
  return {
    ...(runner === null ? {} : { runner: runner.value }),
    ...(timeoutMinutes === null ? {} : { timeout: timeoutMinutes.value }),
    ...(freeDisk === null ? {} : { freeDisk: freeDisk.value }),
  };
}

export interface ShardCell {
  /** Cell id. */
  readonly id: string;
  /** A job builds for a single platform, and a machine of the platform can run the job. */
  readonly platform: string;
  /** Base images: cells with the same ones share stages, and sharing ends at a job's border. */
  readonly bases: readonly string[];
  /** The machine of its job, as the matrix names it. */
  readonly machine?: Machine;
}

/** Each only where the matrix says it. */
export interface Machine {
  /** Labels for `runs-on`. */
  readonly runner?: readonly string[];
  /** Minutes that the job may take. */
  readonly timeout?: number;
  /** The job has to make room on its disk first. */
  readonly freeDisk?: boolean;
}

export interface Shard extends Machine {
  /** For people: `linux/amd64 3/8`, with the labels of its runner where it has some. */
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
 * over platforms and machines by their number, and evenly within one: two jobs of a platform differ by one cell at most.
 *
 * Throws `USAGE` when there are more platforms and machines than jobs, or more cells than GitHub takes in one matrix.
 */
export function shardCells(cells: readonly ShardCell[], shards: number): readonly Shard[] {
  if (shards > mostJobs)
    throw usageError(
      `GitHub takes ${mostJobs} jobs in one matrix, and --shards is ${shards}`,
      `write at most ${mostJobs}`,
    );
  const groups = [...groupBy([...cells].sort(byBases), machineKey)].sort(compareFirst);
  const jobs = jobsPerGroup(
    groups.map(([, group]) => group.length),
    shards,
  );
  const made = numbered(
    groups.flatMap(([, group], index) => {
      const longest = Math.ceil(group.map(({ id }) => id).join().length / longestOnly);
      return splitGroup(group, Math.max(jobs[index] ?? 1, longest));
    }),
  );
  const bytes = Buffer.byteLength(JSON.stringify({ include: made }));
  if (made.length > mostJobs || bytes > mostBytes) {
    throw usageError(
      `${cells.length} cells make a matrix of ${made.length} jobs and ${bytes} bytes; GitHub takes ${mostJobs} and ${mostBytes}`,
      "divide the fleet between workflows with --only",
    );
  }
  return made;
}

function machineKey({ platform, machine: { runner, timeout, freeDisk } = {} }: ShardCell): string {
  return JSON.stringify([platform, runner, timeout, freeDisk]);
}

function splitGroup(group: readonly ShardCell[], jobs: number): Shard[] {
  const [{ platform, machine } = { platform: "", machine: {} }] = group;
  const words = [platform, ...(machine?.runner ?? [])].join(" ");
  return Array.from({ length: jobs }, (_, index) => {
    const part = group.slice(
      Math.round((index * group.length) / jobs),
      Math.round(((index + 1) * group.length) / jobs),
    );
    const only = part.map(({ id }) => id).join();
    return { name: words, platform, cells: part.length, only, ...machine };
  });
}

/** Jobs of one name get numbers. Two groups have one name where they differ in what a name does not say. */
function numbered(shards: readonly Shard[]): readonly Shard[] {
  const byName = groupBy(shards, ({ name }) => name);
  return shards.map((shard): Shard => {
    const alike = byName.get(shard.name) ?? [];
    return { ...shard, name: `${shard.name} ${alike.indexOf(shard) + 1}/${alike.length}` };
  });
}

/** Each group at least one job and none more than it has cells; the next job goes where most cells wait for one. */
function jobsPerGroup(sizes: readonly number[], shards: number): number[] {
  if (sizes.length > shards) {
    throw usageError(
      `the cells are for ${sizes.length} platforms or machines, and each needs its own job; --shards is ${shards}`,
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
