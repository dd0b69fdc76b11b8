/** Builds one cell, or takes over the image of the same inputs that the registry has: built, pushed, opened, attested, signed, tagged. */

import { ImgmatchError } from "../../errors.ts";
import { systemProblem } from "../../io/system-error.ts";
import type { LockedAttestation } from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";
import { formatImageReference, withDigest } from "../../oci/reference.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import { type Examination, type ExaminedImage, type Examine, unexamined } from "../audit/image-examiner.ts";
import type { BuildEvent, BuiltCell, FailedCell, InterruptedCell } from "../engines/built-cell.ts";
import { type CellLog, openCellLog } from "../engines/cell-log.ts";
import type { BuildWatch, Engine } from "../engines/engine.ts";
import type { BuildJob } from "../engines/jobs.ts";
import type { AttestImage } from "../publish/attest-image.ts";
import { findPublished, publishImage } from "../publish/publish-image.ts";
import type { FleetSigner } from "../publish/sign-fleet.ts";
import type { Pace } from "../publish/settle-tag.ts";

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
}

/**
 * Builds a cell, with a log of its own. If the registry already holds an image of the same inputs under the job's reference, that one is
 * adopted and nothing is built. Throws bugs only.
 */
export async function buildCell(
  job: BuildJob,
  options: CellOptions,
): Promise<BuiltCell | FailedCell | InterruptedCell> {
  const { cell, inputDigest } = job;
  const { drain, stop, logFolder, onEvent } = options;
  const interrupted = (): InterruptedCell => {
    onEvent({ type: "interrupted", cell });
    return { status: "interrupted", cell };
  };
  if (drain.aborted) return interrupted();
  const started = performance.now();
  let log: CellLog | null = null;
  let made: MadeImage;
  try {
    log = await openCellLog(logFolder, cell);
    onEvent({ type: "start", cell, log: log.path });
    made = await makeImage(job, log, options);
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
  const durationMs = performance.now() - started;
  return { status: "built", cell, inputDigest, ...made, log: await log.close(null), durationMs };
}

type MadeImage = Omit<BuiltCell, "status" | "cell" | "inputDigest" | "log" | "durationMs">;

async function makeImage(
  { cell, request, reference, inputDigest }: BuildJob,
  log: CellLog,
  { engine, publishing, examine: open, drain, stop, onEvent }: CellOptions,
): Promise<MadeImage> {
  const onLog = (line: string) => {
    log.write(line);
    onEvent({ type: "log", cell, line });
  };
  const examine = async (image: ExaminedImage["image"], signal: AbortSignal): Promise<Examination> => {
    if (open === null) return unexamined;
    onEvent({ type: "open", cell });
    return open({ cell, image }, { signal, onLog });
  };
  const build = async () => {
    const startedAt = new Date();
    const started = performance.now();
    const image = await engine.build(request, { signal: drain, onLog });
    return { image, buildMs: performance.now() - started, startedAt, finishedAt: new Date() };
  };
  if (reference === null || publishing === null) {
    const { image, buildMs } = await build();
    return { how: "built", differs: false, ...inEngine, image, buildMs, ...(await examine(image, drain)) };
  }
  const { registry, attest, signing, settleMs } = publishing;
  const name = { registry, settleMs, reference, platform: request.platform, inputDigest };
  const known = await findPublished({ ...name, signal: drain });
  if (known !== null) {
    await signing?.requireSigned(reference, known.digest);
    onLog(`adopted ${known.digest}: the registry already has an image of the same inputs`);
    const examined = await examine(withDigest(reference, known.digest), drain);
    return { how: "adopted", differs: false, ...known, image: null, buildMs: null, ...examined };
  }
  const { image, buildMs, startedAt, finishedAt } = await build();
  drain.throwIfAborted();
  onEvent({ type: "push", cell, reference: formatImageReference(reference) });
  const watch: BuildWatch = { signal: stop, onLog };
  const opened = new Map<Digest, Examination>();
  const attested = new Map<Digest, LockedAttestation>();
  const published = await publishImage({
    ...{ ...name, engine, image, watch },
    // From the registry its own layers travel alone; an engine would hand over the base with them.
    beforeTag: async (digest) => {
      const pushed = withDigest(reference, digest);
      opened.set(digest, await examine(pushed, stop));
      if (attest !== null)
        attested.set(digest, await attest({ cell, reference: pushed, digest, startedAt, finishedAt }, watch));
      await signing?.sign(digest, pushed);
    },
  });
  const { digest, how } = published;
  if (how === "adopted") await signing?.requireSigned(reference, digest);
  // An image that others put there was not opened here.
  const examined = opened.get(digest) ?? (await examine(withDigest(reference, digest), stop));
  const spent = how === "pushed" ? buildMs : null;
  return { ...published, image, buildMs: spent, ...examined, attested: attested.get(digest) };
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
