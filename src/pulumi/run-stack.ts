/** `imgmatch build --engine pulumi`: the component as an inline program, its events as those of every build. */

import { resolve } from "node:path";
import type { automation } from "@pulumi/pulumi";
import type { Environment } from "../io/world.ts";
import { ImgmatchError } from "../errors.ts";
import { updateLock } from "../lock/update-lock.ts";
import type { Cell } from "../fleet/cells/cell.ts";
import type { Plan } from "../fleet/plan/planned-cell.ts";
import { unready, withImages } from "../fleet/build/cell-builder.ts";
import type {
  BuildSummary,
  FleetBuilder,
  FleetBuildOptions,
  FleetSources,
  StackPreview,
} from "../fleet/build/fleet-builder.ts";
import type { BuiltImage } from "../fleet/build/engine.ts";
import { isReady, lockedImageOf, type ReadyCell } from "../fleet/build/jobs.ts";
import type { CellResult } from "../fleet/build/schedule.ts";
import { sourceDateEpoch } from "../fleet/build/source-date-epoch.ts";
import type { Advice } from "../fleet/build/engines/advice.ts";
import { partOf, resourceName } from "./stack-cells.ts";
import { FleetImages } from "./component.ts";
import { type ImageEvent, readEvent } from "./events.ts";
import { findPublished, requireOneRepository, type PreparedFleet } from "./prepare-stack.ts";
import { createRecorder } from "./results.ts";
import { shardCells } from "./stack-shards.ts";
import { errorLines, openWorkspace, readState, withStackLock } from "./workspace.ts";

export interface RunOptions {
  readonly env: Environment;
  readonly pulumiRoot: string | null;
  /** Default: `imgmatch`. */
  readonly stack: string;
  readonly advice: Advice;
  /** An image in the engine, or null where it does not tell. */
  readonly imageOf: (name: string) => Promise<BuiltImage | null>;
}

type Common = Parameters<FleetBuilder["preview"]>[2];

/** One stack with the cells that the plan has of it. */
interface Shard {
  readonly stack: automation.Stack;
  readonly prepared: PreparedFleet;
  readonly name: string;
  /** Only these are updated; null for all. */
  readonly target: readonly string[] | null;
  readonly adopted: readonly ReadyCell[];
}

/** Previews every stack and changes none. Throws as a build does before its first update. */
export async function previewPlan(
  plan: Plan,
  fleet: FleetSources,
  options: Common,
  run: RunOptions,
): Promise<readonly StackPreview[]> {
  const previews: StackPreview[] = [];
  for (const shard of await prepareShards(plan, fleet, options, run)) {
    const changes = await told(shard.name, () =>
      withStackLock(shard.stack, () => shard.stack.preview(updateOptions(shard, options))),
    );
    previews.push({ stack: shard.name, changes: changes.changeSummary });
  }
  return previews;
}

/** As `buildPlan`. A conflict in the registry throws `TAG_CONFLICT` before the first update. */
export async function runPlan(
  plan: Plan,
  fleet: FleetSources,
  options: FleetBuildOptions,
  run: RunOptions,
  described: string,
): Promise<BuildSummary> {
  const builder = { described, keeper: "docker" } as const;
  const { onEvent = () => {}, drain, logFolder, lockFile } = options;
  const shards = await prepareShards(plan, fleet, options, run);
  const wanted = plan.cells.filter(({ action }) => action === "build");
  const recorder = createRecorder({
    repository: plan.matrix.repository,
    publisher: options.publisher,
    examiner: options.examiner,
    signal: drain ?? new AbortController().signal,
    logFolder,
    advice: run.advice,
    imageOf: run.imageOf,
    onEvent,
    onBuilt: async (planned, built) => {
      const image = lockedImageOf(planned, built, builder, options.now().toISOString());
      await updateLock(lockFile, (lock) => withImages(lock, plan, { [planned.cell.id]: image }), {
        repository: plan.matrix.repository,
      });
    },
  });
  const failures: ImgmatchError[] = [];
  for (const shard of shards) {
    for (const planned of shard.adopted) {
      const image = shard.prepared.published?.get(planned.cell.id);
      if (image !== undefined) await recorder.adopt(planned, image);
    }
    if (drain?.aborted) break;
    try {
      await update(shard, options, (planned, event) => recorder.take(planned, event));
    } catch (error) {
      if (!(error instanceof ImgmatchError)) throw error;
      failures.push(error);
    }
  }
  const done = await recorder.end();
  // A cell with a result has its reason there.
  const explained = [...done.values()].some(({ status }) => status === "failed") || drain?.aborted === true;
  if (failures[0] !== undefined && !explained) throw failures[0];
  const results = wanted.map((planned): CellResult => done.get(planned.cell.id) ?? resultless(planned));
  return {
    results,
    kept: plan.cells.filter(({ action }) => action === "keep").length,
    interrupted: results.some(({ status }) => status === "interrupted"),
  };
}

function resultless(planned: Plan["cells"][number]): CellResult {
  return isReady(planned) ? { status: "interrupted", cell: planned.cell.id } : unready(planned);
}

/** Everything that can be known and refused before the first update. */
async function prepareShards(
  plan: Plan,
  fleet: FleetSources,
  options: Common,
  run: RunOptions,
): Promise<readonly Shard[]> {
  const { publisher, revision } = options;
  requireOneRepository(plan);
  const planned = plan.cells.filter(({ action }) => action === "build" || action === "keep").filter(isReady);
  const published =
    publisher === null ? null : await findPublished(planned, plan.matrix.repository, publisher);
  const workspace = await openWorkspace({
    root: fleet.root,
    env: run.env,
    pulumiRoot: run.pulumiRoot,
  });
  const possible = fleet.cells.filter(({ skipped }) => skipped === null).map(({ cell }) => cell);
  const shards: Shard[] = [];
  for (const [name, cells] of shardCells(run.stack, possible)) {
    const ids = new Set(cells.map(({ id }) => id));
    const own = planned.filter(({ cell }) => ids.has(cell.id));
    if (own.length === 0) continue;
    const common = {
      plan,
      fleet,
      cells: own,
      push: publisher !== null,
      publisher,
      published,
      // The recorder opens what was built, with a log and a result for each cell.
      examiner: null,
      revision,
      epoch: sourceDateEpoch(run.env),
      ...{ given: { login: null, secrets: null }, secret: false, resources: [] },
    };
    const where = { baseDir: workspace.workDir, workDir: resolve(fleet.root, ".imgmatch", "pulumi") };
    shards.push(await told(name, () => openShard(name, cells, { ...common, ...where }, workspace)));
  }
  return shards;
}

async function openShard(
  name: string,
  possible: readonly Cell[],
  common: Omit<PreparedFleet, "known">,
  workspace: Awaited<ReturnType<typeof openWorkspace>>,
): Promise<Shard> {
  const { matrix } = common.plan;
  let prepared: PreparedFleet | null = null;
  const stack = await workspace.open(name, async () => {
    if (prepared === null) return {};
    const fleet: PreparedFleet = prepared;
    const { references } = new FleetImages(matrix.name, { prepare: async () => fleet, provider: "docker" });
    return { references };
  });
  const { images, urns } = await withStackLock(stack, () => readState(stack));
  const parts = common.cells.map((planned) => {
    const known = images.get(resourceName(matrix.name, planned.cell.id)) ?? null;
    const imageName = `${matrix.repository}:${planned.tag}`;
    const { push, published } = common;
    const found = published === null ? undefined : (published.get(planned.cell.id)?.digest ?? null);
    return { planned, part: partOf({ planned, imageName, published: found, known, push }) };
  });
  prepared = { ...common, known: images };
  const chosen = new Set(common.cells.map(({ cell }) => cell.id));
  const urnOf = (cell: string) => {
    const resource = resourceName(matrix.name, cell);
    const made = `urn:pulumi:${name}::${workspace.project}::imgmatch:index:ImageFleet$docker:index/image:Image::${resource}`;
    return urns.get(resource) ?? made;
  };
  // Of cells that are left out now the stack keeps what it has.
  const isPartial = possible.some(({ id }) => !chosen.has(id) && urns.has(resourceName(matrix.name, id)));
  return {
    stack,
    name,
    prepared,
    target: isPartial ? [...chosen].map(urnOf) : null,
    adopted: parts
      .filter(({ planned, part }) => planned.action === "build" && (part === "adopt" || part === "keep"))
      .filter(({ planned }) => common.published?.has(planned.cell.id))
      .map(({ planned }) => planned),
  };
}

function updateOptions({ target }: Shard, { concurrency }: Common) {
  return {
    parallel: Math.max(1, concurrency),
    color: "never" as const,
    suppressOutputs: true,
    ...(target === null ? {} : { target: [...target] }),
  };
}

async function update(
  shard: Shard,
  options: FleetBuildOptions,
  take: (planned: ReadyCell, event: ImageEvent) => void,
): Promise<void> {
  const { stack, prepared } = shard;
  const { name } = prepared.plan.matrix;
  const cells = new Map(
    prepared.cells
      .filter(({ action }) => action === "build")
      .map((planned) => [resourceName(name, planned.cell.id), planned]),
  );
  await told(shard.name, () =>
    withStackLock(stack, () =>
      stack.up({
        ...updateOptions(shard, options),
        // One failing cell does not stop the others.
        continueOnError: true,
        ...(options.drain === undefined ? {} : { signal: options.drain }),
        onEvent: (event) => {
          const image = readEvent(event);
          const planned = image === null ? undefined : cells.get(image.name);
          if (image !== null && planned !== undefined) take(planned, image);
        },
      }),
    ),
  );
}

/** Pulumi's own failures as one problem. */
async function told<T>(name: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof ImgmatchError || !(error instanceof Error) || error.name !== "CommandError")
      throw error;
    throw new ImgmatchError(
      {
        code: "ENGINE_FAILED",
        message: `pulumi failed on the stack ${name}:`,
        details: errorLines(error).map((line) => `    ${line}`),
        ...(/passphrase must be set|incorrect passphrase/.test(error.message)
          ? { fix: "set PULUMI_CONFIG_PASSPHRASE to the passphrase of your project's stacks" }
          : {}),
      },
      { cause: error },
    );
  }
}
