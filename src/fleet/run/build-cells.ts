/**
 * Builds many cells at once: bounded, each by itself, nothing lost when it is interrupted. For each cell it builds the image, or takes over
 * the registry's image of the same inputs: built, pushed, opened, attested, signed, tagged.
 */

import { setMaxListeners } from "node:events";
import pLimit from "p-limit";
import { faultOf, ImgmatchError } from "../../errors.ts";
import { systemProblem } from "../../io/system-error.ts";
import type { LockedAttestation, SignatureForm } from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";
import { formatImageReference, withDigest } from "../../oci/reference.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import { type Examination, type Examine, unexamined } from "../audit/image-examiner.ts";
import type { ExaminedImage } from "../../oci/engine/built-image.ts";
import type {
  BuildEvent,
  BuiltCell,
  CellResult,
  FailedCell,
  InterruptedCell,
} from "../engines/built-cell.ts";
import { type CellLog, openCellLog } from "../engines/cell-log.ts";
import type { Engine } from "../engines/engine.ts";
import type { BuildWatch } from "../../oci/engine/built-image.ts";
import type { BuildJob } from "../engines/jobs.ts";
import type { AttestImage } from "../publish/attest-image.ts";
import { findExisting, findPublished, publishImage } from "../publish/publish-image.ts";
import type { FleetSigner } from "../publish/seal.ts";
import type { Pace } from "../publish/write-tag.ts";

/** The means of a push. */
export interface Publishing extends Pick<Pace, "settleMs"> {
  readonly registry: RegistryClient;
  /** null where nothing is to be attested. */
  readonly attest: AttestImage | null;
  /** null where nobody signs. */
  readonly signing: Pick<FleetSigner, "sign" | "requireSigned"> | null;
}

export interface CellOptions {
  readonly engine: Pick<Engine, "build" | "push">;
  /** For jobs that have a reference; null where none has. */
  readonly publishing: Publishing | null;
  /** Opens each image before it has its tag; null to leave them shut. */
  readonly examine: Examine | null;
  /** Folder of the log files, one for each cell. */
  readonly logFolder: string;
  readonly onEvent: (event: BuildEvent) => void;
  /** Ends builds, and not pushes. */
  readonly drain: AbortSignal;
  /** Ends pushes too. */
  readonly stop: AbortSignal;
  /** The longest build of one image; it ends a hung step. No limit by default. */
  readonly cellTimeoutMs?: number | undefined;
}

export interface FinishedJob {
  readonly job: BuildJob;
  readonly built: BuiltCell;
}

export interface BuildJobsOptions extends Omit<CellOptions, "drain" | "stop"> {
  readonly concurrency: number;
  /** After so many failed cells nothing new starts; what runs goes on to its end. No limit by default. */
  readonly maxFailures?: number | undefined;
  /** Called with the jobs that finished since the call before. No two calls run at once. An error of it ends the build. */
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
  { concurrency, maxFailures = Number.POSITIVE_INFINITY, onBuilt, ...options }: BuildJobsOptions,
): Promise<readonly CellResult[]> {
  const fatal = new AbortController();
  const stop = anySignal(options.stop);
  const drain = anySignal(options.drain, options.stop, fatal.signal);
  const limit = pLimit(concurrency);
  const record = groupWrites(onBuilt);
  let failures = 0;
  const begin = async (job: BuildJob): Promise<CellResult> => {
    if (failures >= maxFailures) return interrupted(job, options);
    const result = await buildCell(job, { ...options, drain, stop });
    if (result.status === "failed") failures++;
    return result;
  };

  async function buildOne(job: BuildJob): Promise<CellResult> {
    try {
      // While it is recorded, others are built: writing the lock of a large fleet takes a while.
      const built = await limit(begin, job);
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
 * Returns a function that ends when its item is written. Writes never overlap; a failed write fails for its own items, and the next write is
 * tried all the same.
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

/**
 * Builds a cell, with a log of its own. If the registry already holds an image of the same inputs under the job's reference, that one is
 * adopted and nothing is built. Throws bugs only.
 */
export async function buildCell(job: BuildJob, options: CellOptions): Promise<CellResult> {
  const { cell, inputDigest } = job;
  const { drain, stop, logFolder, onEvent } = options;
  if (drain.aborted) return interrupted(job, options);
  const started = performance.now();
  let log: CellLog | null = null;
  let made: MadeImage;
  try {
    log = await openCellLog(logFolder, cell);
    onEvent({ type: "start", cell, log: log.path });
    made = await makeImage(job, log, options);
  } catch (error) {
    const path = (await log?.close(faultOf(error))) ?? null;
    if (drain.aborted && isAbort(error, drain, stop)) return interrupted(job, options);
    const problem = systemProblem(error);
    if (problem === null) throw error;
    const durationMs = performance.now() - started;
    const result: FailedCell = { status: "failed", cell, problems: problem.problems, log: path, durationMs };
    onEvent({ type: "failed", ...result });
    return result;
  }
  const durationMs = performance.now() - started;
  return { status: "built", cell, inputDigest, ...made, log: await log.close(null), durationMs };
}

function interrupted({ cell }: BuildJob, { onEvent }: Pick<CellOptions, "onEvent">): InterruptedCell {
  onEvent({ type: "interrupted", cell });
  return { status: "interrupted", cell };
}

type MadeImage = Omit<BuiltCell, "status" | "cell" | "inputDigest" | "log" | "durationMs">;

async function makeImage(
  { cell, request, reference, inputDigest, takesOver }: BuildJob,
  log: CellLog,
  { engine, publishing, examine, drain, stop, onEvent, cellTimeoutMs }: CellOptions,
): Promise<MadeImage> {
  const onLog = (line: string) => {
    log.write(line);
    onEvent({ type: "log", cell, line });
  };
  const examineImage = async (image: ExaminedImage["image"], signal: AbortSignal): Promise<Examination> => {
    if (examine === null) return unexamined;
    onEvent({ type: "open", cell });
    return examine({ cell, image }, { signal, onLog });
  };
  const build = async () => {
    const startedAt = new Date();
    const started = performance.now();
    const image = await inTime(cell, cellTimeoutMs, drain, (signal) =>
      engine.build(request, { signal, onLog }),
    );
    return { image, buildMs: performance.now() - started, startedAt, finishedAt: new Date() };
  };
  if (reference === null || publishing === null) {
    const { image, buildMs } = await build();
    return {
      how: "built",
      differs: false,
      ...inEngine,
      image,
      buildMs,
      ...(await examineImage(image, drain)),
    };
  }
  const { registry, attest, signing, settleMs } = publishing;
  const name = { registry, settleMs, reference, platform: request.platform, inputDigest };
  const known = await (takesOver === undefined
    ? findPublished({ ...name, signal: drain })
    : findExisting({ ...name, reference: withDigest(reference, takesOver.digest) }));
  if (known !== null) {
    // Of an index that a trusted signer has signed, this run signs the images anew.
    if (!takesOver?.isVouched) await signing?.requireSigned(reference, known.digest);
    const whose = takesOver === undefined ? "the registry already has an image" : "the index names it as one";
    onLog(`adopted ${known.digest}: ${whose} of the same inputs`);
    const examined = await examineImage(withDigest(reference, known.digest), drain);
    return { how: "adopted", differs: false, ...known, image: null, buildMs: null, ...examined };
  }
  const { image, buildMs, startedAt, finishedAt } = await build();
  drain.throwIfAborted();
  onEvent({ type: "push", cell, reference: formatImageReference(reference) });
  const watch: BuildWatch = { signal: stop, onLog };
  const opened = new Map<Digest, Examination>();
  const attested = new Map<Digest, LockedAttestation>();
  const signed = new Map<Digest, readonly SignatureForm[]>();
  const published = await publishImage({
    ...{ ...name, engine, image, watch },
    // From the registry its own layers travel alone; an engine would hand over the base with them.
    beforeTag: async (digest) => {
      const pushed = withDigest(reference, digest);
      opened.set(digest, await examineImage(pushed, stop));
      if (attest !== null)
        attested.set(digest, await attest({ cell, reference: pushed, digest, startedAt, finishedAt }, watch));
      if (signing !== null) signed.set(digest, await signing.sign(digest, pushed));
    },
  });
  const { digest, how } = published;
  if (how === "adopted") await signing?.requireSigned(reference, digest);
  // An image that others put there was not opened here.
  const examined = opened.get(digest) ?? (await examineImage(withDigest(reference, digest), stop));
  const spent = how === "pushed" ? buildMs : null;
  const vouched = { attested: attested.get(digest), signed: signed.get(digest) };
  return { ...published, image, buildMs: spent, ...examined, ...vouched };
}

/** Throws `BUILD_TIMEOUT` where the work takes longer. */
async function inTime<T>(
  cell: string,
  timeoutMs: number | undefined,
  drain: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (timeoutMs === undefined) return work(drain);
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeoutMs);
  try {
    return await work(anySignal(drain, late.signal));
  } catch (error) {
    if (drain.aborted || !late.signal.aborted) throw error;
    throw new ImgmatchError(
      {
        code: "BUILD_TIMEOUT",
        message: `${cell}: the build did not end within ${timeoutMs / 60_000} min`,
        fix: "read the end of the log for the step that hung; a build that needs longer gets a larger --cell-timeout",
      },
      { cause: error },
    );
  } finally {
    clearTimeout(timer);
  }
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
