/** Reads the engine's output of a build: log lines, the image's id, the step that failed. */

import { StringDecoder } from "node:string_decoder";
import { ImgmatchError } from "../../../../errors.ts";
import type { ProblemCode } from "../../../../problem-codes.ts";
import { fieldsOf } from "../../../../io/json.ts";
import { readTrace, type TraceVertex } from "../../../../oci/engine/trace.ts";
import { namesLocalBase } from "../../../../oci/local-base.ts";
import { remember } from "../../../../io/collections.ts";
import type { Advice } from "../advice.ts";

export interface BuildOutcome {
  readonly imageId: string | null;
  readonly failure: BuildFailure | null;
}

export interface BuildFailure {
  /** The step as BuildKit names it, for example `[2/3] RUN make`; null when no step is to blame. */
  readonly step: string | null;
  readonly message: string;
  /** The last lines that the failing step printed. */
  readonly lastLines: readonly string[];
}

const keptLines = 12;

interface Step {
  readonly number: number;
  readonly name: string;
  readonly lastLines: string[];
  readonly partial: Map<number, { readonly decoder: StringDecoder; text: string }>;
  announced: boolean;
  finished: boolean;
  error: string;
}

/**
 * Logs as `docker build --progress=plain` does: `#3 [2/3] RUN make`, `#3 cc -O3 …`, `#3 DONE 1.2s`.
 * Understands the classic builder's plain `stream` texts too, which engines without BuildKit send.
 */
export function createBuildOutput(onLog: (line: string) => void) {
  const steps = new Map<string, Step>();
  let imageId: string | null = null;
  let error: string | null = null;
  let plain = "";

  const newStep = { announced: false, finished: false, error: "" };
  const stepOf = (digest: string, name: string): Step =>
    remember(steps, digest, () => {
      return { ...newStep, number: steps.size + 1, name, lastLines: [], partial: new Map() };
    });

  function announce(step: Step): void {
    if (step.announced) return;
    step.announced = true;
    onLog(`#${step.number} ${step.name}`);
  }

  function printed(step: Step, line: string): void {
    announce(step);
    onLog(`#${step.number} ${line}`);
    step.lastLines.push(line);
    if (step.lastLines.length > keptLines) step.lastLines.shift();
  }

  function flush(step: Step): void {
    for (const partial of step.partial.values()) {
      const rest = partial.text + partial.decoder.end();
      partial.text = "";
      if (rest !== "") printed(step, rest);
    }
  }

  function vertex({ digest, name, cached, startedMs, completedMs, error }: TraceVertex): void {
    const step = stepOf(digest, name);
    if (startedMs !== null || cached || error !== "") announce(step);
    if (step.finished || (completedMs === null && !cached && error === "")) return;
    flush(step);
    step.finished = true;
    step.error = error;
    if (error !== "") onLog(`#${step.number} ERROR: ${error}`);
    else if (cached) onLog(`#${step.number} CACHED`);
    else onLog(`#${step.number} DONE ${(((completedMs ?? 0) - (startedMs ?? 0)) / 1000).toFixed(1)}s`);
  }

  function output(step: Step, stream: number, bytes: Uint8Array): void {
    const partial = remember(step.partial, stream, () => ({ decoder: new StringDecoder("utf8"), text: "" }));
    // A progress bar moves by carriage returns: each of its states is a line.
    const lines = (partial.text + partial.decoder.write(Buffer.from(bytes))).split(/\r?\n|\r/);
    partial.text = lines.pop() ?? "";
    for (const line of lines) printed(step, line);
  }

  return {
    /** Takes one message of the stream. */
    read(message: unknown): void {
      const { id, aux, stream, error: text, errorDetail } = fieldsOf(message);
      if (id === "moby.buildkit.trace" && typeof aux === "string") {
        const trace = readTrace(aux);
        for (const one of trace.vertexes) vertex(one);
        for (const { vertex, stream, bytes } of trace.logs) output(stepOf(vertex, ""), stream, bytes);
      }
      const { ID } = fieldsOf(aux);
      if (typeof ID === "string") imageId = ID;
      if (typeof stream === "string") {
        const lines = (plain + stream).split(/\r?\n/);
        plain = lines.pop() ?? "";
        for (const line of lines) onLog(line);
      }
      const detail = fieldsOf(errorDetail).message;
      if (typeof detail === "string") error = detail;
      else if (typeof text === "string") error = text;
    },
    /** Flushes what was not yet a whole line. */
    end(): BuildOutcome {
      for (const step of steps.values()) flush(step);
      if (plain !== "") onLog(plain);
      if (error === null) return { imageId, failure: null };
      onLog(`ERROR: ${error}`);
      // Steps that ran beside the failing one end with "context canceled": they are not the cause.
      const failed = [...steps.values()].filter(
        (step) => step.error !== "" && !/context canceled/i.test(step.error),
      );
      const [step] = failed;
      const failure = { step: step?.name ?? null, message: error, lastLines: step?.lastLines ?? [] };
      return { imageId: null, failure };
    },
  };
}

/** The engine's disk is full: BuildKit says so, or a program of a step. */
export function isFull({ message, lastLines }: BuildFailure): boolean {
  return [message, ...lastLines].some((line) => /no space left on device/i.test(line));
}

/**
 * `BASE_UNRESOLVED` when a base image could not be had, `ENGINE_FAILED` on a full disk, else `BUILD_FAILED`.
 * `folder`: where the engine keeps its data, if known.
 */
export function buildFailure(
  cell: string,
  failure: BuildFailure,
  advice: Advice,
  folder?: string,
): ImgmatchError {
  const { step, message, lastLines } = failure;
  const place = step === null ? "the build failed" : `step ${step} failed`;
  // An engine may quote a step of several lines, or what a program printed.
  const [first = "", ...rest] = message.split(/\r?\n/);
  const { code, fix } = kind(failure, advice, folder);
  return new ImgmatchError({
    code,
    message: `${cell}: ${place}: ${first}`,
    details: [...rest, ...lastLines].map((line) => `    ${line}`),
    ...(fix === null ? {} : { fix }),
  });
}

function kind(
  failure: BuildFailure,
  advice: Advice,
  folder: string | undefined,
): { readonly code: ProblemCode; readonly fix: string | null } {
  const { step, message } = failure;
  if (namesLocalBase(`${step} ${message}`)) {
    const fix =
      "the engine has this base for another platform alone: build it for this cell's too, or leave the cell out with --only";
    return { code: "BASE_UNRESOLVED", fix };
  }
  // moby/buildkit, session/manager.go: what POST /build alone cannot give.
  if (/\bno active sessions\b/.test(message)) {
    const fix =
      "a secret, an SSH agent or a token is asked for, which takes the docker command with buildx: install its packages";
    return { code: "ENGINE_NOT_FOUND", fix };
  }
  const trust = advice.trust(message);
  if (trust !== null) return { code: "BASE_UNRESOLVED", fix: trust };
  const [, base] = /^\[internal\] load metadata for (\S+)/.exec(step ?? "") ?? [];
  if (base !== undefined || /failed to resolve source metadata|pull access denied/.test(message)) {
    const fix = `check that the engine reaches the registry of ${base ?? "the base image"}, that the image exists there, and log in if it is private`;
    return { code: "BASE_UNRESOLVED", fix };
  }
  if (isFull(failure)) return { code: "ENGINE_FAILED", fix: advice.full(folder) };
  return { code: "BUILD_FAILED", fix: null };
}
