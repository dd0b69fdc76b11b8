/** Images as the stack makes them → results of cells: logs, the registry's digest, the lock, as each one is ready. */

import { ImgmatchError, type Problem } from "../errors.ts";
import { type CellLog, openCellLog } from "../fleet/build/cell-log.ts";
import type { BuiltImage } from "../fleet/build/engine.ts";
import type { Advice } from "../fleet/build/engines/advice.ts";
import { buildFailure } from "../fleet/build/engines/docker/build-output.ts";
import { pushFailure } from "../fleet/build/engines/push-failure.ts";
import type { ReadyCell } from "../fleet/build/jobs.ts";
import {
  type Examination,
  type ExaminedImage,
  type FoundImage,
  type Publisher,
  unexamined,
} from "../fleet/build/publisher.ts";
import type {
  BuildEvent,
  BuildFleetOptions,
  BuiltCell,
  CellResult,
  FailedCell,
} from "../fleet/build/schedule.ts";
import type { Digest } from "../oci/digest.ts";
import { parseImageReference, withDigest, withTag } from "../oci/reference.ts";
import type { ImageEvent } from "./events.ts";
import type { PublishedImage } from "./prepare-stack.ts";

export interface RecorderOptions extends Pick<BuildFleetOptions, "publisher" | "examiner" | "logFolder"> {
  readonly repository: string;
  /** For what the Docker Engine that the plug-in uses fails at. */
  readonly advice: Advice;
  /** An image in the engine, or null where it does not tell. */
  readonly imageOf: (name: string) => Promise<BuiltImage | null>;
  readonly onEvent: (event: BuildEvent) => void;
  /** Ends the opening of images. */
  readonly signal: AbortSignal;
  readonly onBuilt: (planned: ReadyCell, built: BuiltCell) => Promise<void>;
}

export interface Recorder {
  /** Events are taken one after the other. */
  take(planned: ReadyCell, event: ImageEvent): void;
  adopt(planned: ReadyCell, image: PublishedImage): Promise<void>;
  /** After the last event: what became of each cell. Throws what `onBuilt` throws. */
  end(): Promise<ReadonlyMap<string, CellResult>>;
}

interface Running {
  readonly started: number;
  /** When the stack told of its end; null before, and where it built nothing. */
  made: number | null;
  readonly log: CellLog;
  readonly lastLines: string[];
  /** The fault in the engine's words. */
  error: string | null;
}

export function createRecorder(options: RecorderOptions): Recorder {
  const { repository, logFolder, advice, onEvent, onBuilt } = options;
  const running = new Map<string, Running>();
  const results = new Map<string, CellResult>();
  let chain: Promise<void> = Promise.resolve();

  async function start(cell: string, started = performance.now()): Promise<Running> {
    const known = running.get(cell);
    if (known !== undefined) return known;
    const log = await openCellLog(logFolder, cell);
    const state: Running = { started, made: null, log, lastLines: [], error: null };
    running.set(cell, state);
    onEvent({ type: "start", cell, log: log.path });
    return state;
  }

  /** `at`: when the event came. Others may have been handled since. */
  async function handle(planned: ReadyCell, event: ImageEvent, at: number): Promise<void> {
    const cell = planned.cell.id;
    if (results.has(cell)) return;
    const state = await start(cell, at);
    if (event.type === "log") {
      for (const line of event.lines) {
        state.log.write(line);
        state.lastLines.push(line);
        if (state.lastLines.length > 12) state.lastLines.shift();
        onEvent({ type: "log", cell, line });
      }
    } else if (event.type === "error") state.error = event.message;
    else if (event.type === "failed") {
      const name = `${repository}:${planned.tag}`;
      await fail(planned, state, failureOf(planned.cell.id, name, state, advice));
    } else if (event.type === "built") {
      state.made = at;
      await settle(planned, state, () => madeImage(planned, state, event.repoDigest, options));
    }
  }

  async function keep(planned: ReadyCell, state: Running, made: MadeImage): Promise<void> {
    const built = await builtCell(planned, state, made);
    await onBuilt(planned, built);
    results.set(built.cell, built);
    onEvent({ type: "done", ...built });
  }

  async function settle(planned: ReadyCell, state: Running, make: () => Promise<MadeImage>): Promise<void> {
    try {
      await keep(planned, state, await make());
    } catch (error) {
      if (!(error instanceof ImgmatchError) || error.code === "WRITE_FAILED" || error.code === "LOCK_BUSY")
        throw error;
      await fail(planned, state, error);
    }
  }

  async function fail(
    { cell: { id: cell } }: ReadyCell,
    state: Running,
    error: ImgmatchError,
  ): Promise<void> {
    const result = await failedCell(cell, state, error);
    results.set(cell, result);
    onEvent({ type: "failed", ...result });
  }

  return {
    take(planned, event) {
      // One that failed is told at the end; the next ones must not be lost by it.
      const at = performance.now();
      const next = chain.catch(() => {}).then(() => handle(planned, event, at));
      chain = Promise.all([chain, next]).then(() => {});
      chain.catch(() => {});
    },
    async adopt(planned, { digest, manifest, blobs }) {
      const cell = planned.cell.id;
      const state = await start(cell);
      const line = `adopted ${digest}: the registry already has an image of the same inputs`;
      state.log.write(line);
      onEvent({ type: "log", cell, line });
      await settle(planned, state, async () => {
        const reference = withDigest(parseImageReference(repository), digest);
        const examined = await examine(planned, state, reference, options);
        return { how: "adopted", digest, manifest, blobs, image: null, ...examined };
      });
    },
    async end() {
      await chain;
      for (const [cell, state] of running) {
        if (results.has(cell)) continue;
        await state.log.close("interrupted");
        results.set(cell, { status: "interrupted", cell });
        onEvent({ type: "interrupted", cell });
      }
      return results;
    },
  };
}

/** The image that the stack has just built, and pushed if there is a publisher. */
async function madeImage(
  planned: ReadyCell,
  state: Running,
  repoDigest: string,
  options: RecorderOptions,
): Promise<MadeImage> {
  const { repository, publisher, imageOf } = options;
  const found =
    publisher === null ? null : await readBack(planned, repository, repoDigest, publisher, "build");
  const name = `${repository}:${planned.tag}`;
  const held = await imageOf(name);
  const size = held?.size ?? null;
  // From the registry its own layers travel alone. The engine has it under its name: what the stack tells is the registry's digest.
  const subject =
    found === null ? { id: name, size } : withDigest(parseImageReference(repository), found.digest);
  const examined = await examine(planned, state, subject, options);
  return {
    how: found === null ? "built" : "pushed",
    digest: found?.digest ?? null,
    manifest: found?.manifest ?? null,
    blobs: found?.blobs ?? null,
    image: { id: held?.id ?? digestIn(repoDigest), size },
    ...examined,
  };
}

async function examine(
  { cell: { id: cell } }: ReadyCell,
  { log }: Running,
  image: ExaminedImage["image"],
  { examiner, signal, onEvent }: Pick<RecorderOptions, "examiner" | "signal" | "onEvent">,
): Promise<Examination> {
  if (examiner === null) return unexamined;
  onEvent({ type: "open", cell });
  const onLog = (line: string) => {
    log.write(line);
    onEvent({ type: "log", cell, line });
  };
  return examiner.examine({ cell, image }, { signal, onLog });
}

type MadeImage = Pick<BuiltCell, "how" | "digest" | "manifest" | "blobs" | "image" | "measured" | "warnings">;

async function builtCell(planned: ReadyCell, state: Running, made: MadeImage): Promise<BuiltCell> {
  return {
    status: "built",
    cell: planned.cell.id,
    inputDigest: planned.inputDigest,
    differs: false,
    ...made,
    // With the push, which is the plug-in's own.
    buildMs: state.made === null ? null : state.made - state.started,
    log: await state.log.close(null),
    durationMs: performance.now() - state.started,
  };
}

async function failedCell(cell: string, state: Running, error: ImgmatchError): Promise<FailedCell> {
  const problems = error.problems as readonly [Problem, ...Problem[]];
  const durationMs = performance.now() - state.started;
  return { status: "failed", cell, problems, log: await state.log.close(error.message), durationMs };
}

function failureOf(cell: string, name: string, { error, lastLines }: Running, advice: Advice): ImgmatchError {
  const text = (error ?? "the engine gave no reason").replace(/^.*?rpc error: code = \w+ desc = /s, "");
  if (/failed to connect to any docker daemon|Cannot connect to the Docker daemon/.test(text)) {
    return new ImgmatchError({
      code: "ENGINE_UNREACHABLE",
      message: `${cell}: ${text}`,
      fix: "start it, or set DOCKER_HOST",
    });
  }
  const push = /error reading push output: (.*)/s.exec(text)?.[1];
  if (push !== undefined) return pushFailure(name, push.trim(), advice);
  const message = text.replace(/^error reading build output: /, "").trim();
  return buildFailure(cell, { step: null, message, lastLines: [...lastLines] }, advice);
}

/** The digest in `repository@sha256:…`, or the whole of an engine's own id. */
export function digestIn(repoDigest: string): Digest {
  return repoDigest.slice(repoDigest.indexOf("@") + 1) as Digest;
}

/** The image that the registry holds behind the tag that was just pushed. Throws `REGISTRY_FAILED` if it has none. */
export async function readBack(
  { cell: { platform }, tag, inputDigest }: ReadyCell,
  repository: string,
  repoDigest: string,
  publisher: Publisher,
  run: "build" | "update",
): Promise<FoundImage> {
  const reference = withTag(parseImageReference(repository), tag);
  const found = await publisher.find({ reference, platform, inputDigest, ours: digestIn(repoDigest) });
  if (found !== null) return found;
  throw new ImgmatchError({
    code: "REGISTRY_FAILED",
    message: `the registry of ${repository}:${tag} does not have it right after it was pushed`,
    fix: `run the same ${run} again; if it stays, check the registry's storage and clean-up rules`,
  });
}
