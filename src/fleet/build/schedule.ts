/** Building many cells at once: bounded, each by itself, nothing lost when it is interrupted. */

import { setMaxListeners } from "node:events";
import pLimit from "p-limit";
import { ImgmatchError, type Problem } from "../../errors.ts";
import { systemProblem } from "../../io/system-error.ts";
import type { LockedAttestation, LockedManifest, Measured } from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";
import type { StoredBlobs } from "../../oci/registry/stored-blobs.ts";
import { formatImageReference, type ImageReference, withDigest } from "../../oci/reference.ts";
import { openCellLog, type CellLog } from "./cell-log.ts";
import type { BuildRequest, BuildWatch, BuiltImage, Engine } from "./engine.ts";
import {
  type Attester,
  type Examination,
  type ExaminedImage,
  type Examiner,
  type Publisher,
  unexamined,
} from "./publisher.ts";

export interface BuildJob {
  readonly cell: string;
  readonly request: BuildRequest;
  /** The reference to push to, with tag; null to leave it in the engine. */
  readonly reference: ImageReference | null;
  readonly inputDigest: Digest;
}

export interface BuiltCell {
  readonly status: "built";
  readonly cell: string;
  readonly inputDigest: Digest;
  /** `built` in the engine only; `pushed`; `adopted`: the registry already had an image of the same inputs. */
  readonly how: "built" | "pushed" | "adopted";
  /** Built here and adopted, though what was built here has other bytes: the build is not reproducible. */
  readonly differs: boolean;
  /** The manifest in the registry; null when it was not pushed. */
  readonly digest: Digest | null;
  /** null also where nobody has asked the registry for it. */
  readonly manifest: LockedManifest | null;
  /** null also where nobody has asked the registry for them. */
  readonly blobs: StoredBlobs | null;
  /** How long the engine worked at what the lock names; null where that is somebody else's. */
  readonly buildMs: number | null;
  /** null when it was adopted without being built. */
  readonly image: BuiltImage | null;
  /** The measurement of its files; null if it was not opened. */
  readonly measured: Measured | null;
  /** Absent where nothing was attested of it here. */
  readonly attested?: LockedAttestation | undefined;
  readonly warnings: readonly Problem[];
  /** The log file; null when there is none or it is not whole. */
  readonly log: string | null;
  readonly durationMs: number;
}

export interface FailedCell {
  readonly status: "failed";
  readonly cell: string;
  readonly problems: readonly [Problem, ...Problem[]];
  readonly log: string | null;
  readonly durationMs: number;
}

/** Not started, or stopped on the way. */
export interface InterruptedCell {
  readonly status: "interrupted";
  readonly cell: string;
}

export type CellResult = BuiltCell | FailedCell | InterruptedCell;

export interface BuildReport {
  readonly cells: readonly CellResult[];
  readonly interrupted: boolean;
}

/** In the order of one cell: `start`, any `log`, `push`, any `open`, then one of `done`, `failed`, `interrupted`. */
export type BuildEvent =
  | { readonly type: "start"; readonly cell: string; readonly log: string }
  | { readonly type: "log"; readonly cell: string; readonly line: string }
  | { readonly type: "open"; readonly cell: string }
  | { readonly type: "push"; readonly cell: string; readonly reference: string }
  | (BuiltCell & { readonly type: "done" })
  | (FailedCell & { readonly type: "failed" })
  | { readonly type: "interrupted"; readonly cell: string };

export interface FinishedJob {
  readonly job: BuildJob;
  readonly built: BuiltCell;
}

export interface BuildFleetOptions {
  readonly engine: Pick<Engine, "build" | "push">;
  readonly publisher: Publisher | null;
  /** Opens each image before it has its tag; null to leave them shut. */
  readonly examiner: Examiner | null;
  /** Attests what is pushed; absent where nothing is to be attested. */
  readonly attester?: Attester | undefined;
  readonly concurrency: number;
  /** Folder of the log files, one for each cell. */
  readonly logFolder: string;
  readonly onEvent?: (event: BuildEvent) => void;
  /** Called with all that has finished since the call before, one call after the other. An error of it ends the build. */
  readonly onBuilt?: (finished: readonly FinishedJob[]) => Promise<void>;
  /** First interruption: nothing new starts, builds end; pushes are finished, and what they push is opened. */
  readonly drain?: AbortSignal;
  /** Second interruption: pushes end too. */
  readonly stop?: AbortSignal;
}

/**
 * Builds all jobs; a failing one does not stop the others. If a job has a reference and the registry already holds an
 * image of the same inputs under it, that one is adopted and nothing is built.
 * Throws only what `onBuilt` throws, and bugs; everything else is in the report.
 */
export async function buildFleet(
  jobs: readonly BuildJob[],
  options: BuildFleetOptions,
): Promise<BuildReport> {
  const { concurrency, onBuilt = async () => {}, onEvent = () => {} } = options;
  const fatal = new AbortController();
  const stop = anySignal(options.stop);
  const drain = anySignal(options.drain, options.stop, fatal.signal);
  const limit = pLimit(Math.max(1, concurrency));
  const record = groupWrites(onBuilt);

  async function buildOne(job: BuildJob): Promise<CellResult> {
    try {
      // While it is recorded, others are built: writing the lock of a large fleet takes a while.
      const built = await limit(buildCell, job, { ...options, drain, stop });
      if (built.status !== "built") return built;
      await record({ job, built });
      onEvent({ type: "done", ...built });
      return built;
    } catch (error) {
      // Not this cell's fault: going on would lose results. Pushes under way still end and are recorded.
      fatal.abort(error);
      return { status: "interrupted", cell: job.cell };
    }
  }

  const cells = await Promise.all(jobs.map(buildOne));
  if (fatal.signal.aborted) throw fatal.signal.reason;
  return { cells, interrupted: cells.some(({ status }) => status === "interrupted") };
}

type CellContext = BuildFleetOptions & {
  readonly drain: AbortSignal;
  readonly stop: AbortSignal;
};

async function buildCell(job: BuildJob, context: CellContext): Promise<CellResult> {
  const { cell, inputDigest } = job;
  const { drain, stop, logFolder, onEvent = () => {} } = context;
  const interrupted = (): InterruptedCell => {
    onEvent({ type: "interrupted", cell });
    return { status: "interrupted", cell };
  };
  if (drain.aborted) return interrupted();
  const started = performance.now();
  let log: CellLog | null = null;
  let built: Omit<BuiltCell, "log" | "durationMs">;
  try {
    log = await openCellLog(logFolder, cell);
    onEvent({ type: "start", cell, log: log.path });
    built = { status: "built", cell, inputDigest, ...(await makeImage(job, log, context)) };
  } catch (error) {
    const path = (await log?.close(error instanceof Error ? error.message : null)) ?? null;
    if (drain.aborted && isAbort(error, drain, stop)) return interrupted();
    const problem = systemProblem(error);
    if (problem === null) throw error;
    const durationMs = performance.now() - started;
    const result: FailedCell = { status: "failed", cell, problems: problem.problems, log: path, durationMs };
    onEvent({ type: "failed", ...result });
    return result;
  }
  return { ...built, log: await log.close(null), durationMs: performance.now() - started };
}

type MadeImage = Omit<BuiltCell, "status" | "cell" | "inputDigest" | "log" | "durationMs">;

async function makeImage(
  { cell, request, reference, inputDigest }: BuildJob,
  log: CellLog,
  { engine, publisher, examiner, attester, drain, stop, onEvent = () => {} }: CellContext,
): Promise<MadeImage> {
  const onLog = (line: string) => {
    log.write(line);
    onEvent({ type: "log", cell, line });
  };
  const { platform } = request;
  const examine = async (image: ExaminedImage["image"], signal: AbortSignal): Promise<Examination> => {
    if (examiner === null) return unexamined;
    onEvent({ type: "open", cell });
    return examiner.examine({ cell, image }, { signal, onLog });
  };
  if (reference !== null && publisher !== null) {
    const found = await publisher.find({ reference, platform, inputDigest, signal: drain });
    if (found !== null) {
      onLog(`adopted ${found.digest}: the registry already has an image of the same inputs`);
      const examined = await examine(withDigest(reference, found.digest), drain);
      return { how: "adopted", differs: false, ...found, image: null, buildMs: null, ...examined };
    }
  }
  const started = performance.now();
  const startedAt = new Date();
  const image = await engine.build(request, { signal: drain, onLog });
  const buildMs = performance.now() - started;
  const finishedAt = new Date();
  if (reference === null) {
    const examined = await examine(image, drain);
    return { how: "built", differs: false, ...inEngine, image, buildMs, ...examined };
  }
  if (publisher === null) throw new TypeError("a job with a reference needs a publisher");
  drain.throwIfAborted();
  onEvent({ type: "push", cell, reference: formatImageReference(reference) });
  const watch: BuildWatch = { signal: stop, onLog };
  const opened = new Map<Digest | null, Examination>();
  const attested = new Map<Digest | null, LockedAttestation>();
  const published = await publisher.publish({
    ...{ engine, image, reference, platform, inputDigest, watch },
    // From the registry its own layers travel alone; an engine would hand over the base with them.
    examine: async (pushed) => {
      opened.set(pushed.digest, await examine(pushed, stop));
      if (attester === undefined) return;
      const build = { cell, pushed, startedAt, finishedAt };
      attested.set(pushed.digest, await attester.attest(build, watch));
    },
  });
  // An image that others put there was not opened here.
  const found =
    opened.get(published.digest) ?? (await examine(withDigest(reference, published.digest), stop));
  const spent = published.how === "pushed" ? buildMs : null;
  return { ...published, image, buildMs: spent, ...found, attested: attested.get(published.digest) };
}

const inEngine = { digest: null, manifest: null, blobs: null } as const;

// An engine may wrap the abort in another error; a cell that fails for another reason still counts as failed.
function isAbort(error: unknown, ...signals: readonly AbortSignal[]): boolean {
  if (error instanceof ImgmatchError)
    return error.cause instanceof Error && error.cause.name === "AbortError";
  return (
    signals.some(({ reason }) => error === reason) || (error instanceof Error && error.name === "AbortError")
  );
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
