/** Opens files in another thread, one at a time. The memory of the files that wait for it has a bound. */

import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { once } from "../../io/collections.ts";
import type { FileInspection } from "../file-inspection.ts";
import { closeSpooled, type SpooledFile } from "../image/spool.ts";
import { type FileRequest, type Reply, readAnswer, transfersOf } from "./file-answer.ts";
import { type FileInspector, inThisThread } from "./file-inspector.ts";

interface Job {
  readonly question: FileRequest;
  readonly bytes: number;
  readonly accept: () => void;
  readonly end: (answer: () => FileInspection | null) => void;
}

/** The bytes that all accepted files may take together. A larger file is opened alone. */
const maxBytes = 12 * 2 ** 20;
/** For messages, and for the findings in a file. */
const minimalBytes = 2 ** 18;
/** The share of a file's size that tables of functions and symbols take in the libraries that have the most. */
const tablesShare = 32;

/** The thread starts with the first file and stays. It does not keep the process from its end. */
export function threadInspector(program: URL): FileInspector {
  const waiting: Job[] = [];
  const accepted: Job[] = [];
  let worker: Worker | null = null;
  let running: Job | null = null;
  let heldBytes = 0;

  const pump = () => {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      if (heldBytes > 0 && heldBytes + next.bytes > maxBytes) break;
      waiting.shift();
      heldBytes += next.bytes;
      accepted.push(next);
      next.accept();
    }
    if (running !== null) return;
    running = accepted.shift() ?? null;
    if (running === null) return;
    worker ??= start();
    worker.ref();
    worker.postMessage(running.question, transfersOf(running.question.file));
  };

  const finish = (answer: () => FileInspection | null, file: SpooledFile | null) => {
    const job = running;
    if (job === null) return;
    running = null;
    worker?.unref();
    heldBytes -= job.bytes;
    if (file !== null) closeSpooled(file);
    job.end(answer);
    pump();
  };

  const start = (): Worker => {
    const started = new Worker(program, { resourceLimits: { maxYoungGenerationSizeMb: 2 } });
    const lose = (error: Error) => {
      // "exit" follows "error", when another thread may be at work.
      if (worker !== started) return;
      worker = null;
      const file = running?.question.file ?? null;
      const raise = () => {
        throw error;
      };
      // A file in memory died with the thread.
      finish(raise, file?.kind === "open" ? file : null);
    };
    started.on("message", ({ answer, file }: Reply) => finish(() => readAnswer(answer), file));
    started.on("error", lose);
    started.on("exit", (code) => lose(new Error(`a thread that opens files ended with ${code}`)));
    return started;
  };

  /** A thread that is at work on the file ends; the next file starts another one. */
  const drop = (job: Job) => {
    if (job === running) void worker?.terminate();
    for (const queue of [waiting, accepted]) {
      const at = queue.indexOf(job);
      if (at === -1) continue;
      queue.splice(at, 1);
      if (queue === accepted) heldBytes -= job.bytes;
      closeSpooled(job.question.file);
      job.end(() => {
        throw new Error("stopped");
      });
    }
    pump();
  };

  return {
    inspect(file, mayBePackaged) {
      const { promise: accepts, resolve: accept } = withResolver<void>();
      const { promise: found, resolve } = withResolver<() => FileInspection | null>();
      const job = { question: { file, mayBePackaged }, bytes: bytesFor(file), accept, end: resolve };
      waiting.push(job);
      pump();
      return { accepted: accepts, found: found.then((answer) => answer()), stop: () => drop(job) };
    },
  };
}

function bytesFor(file: SpooledFile): number {
  const inMemory = file.kind === "memory" ? file.buffer.byteLength : 0;
  return inMemory + Math.min(maxBytes, minimalBytes + file.size / tablesShare);
}

function withResolver<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** The thread's program beside this program, as the bundler writes it. */
declare const IMGMATCH_WORKER: string;

/**
 * A second thread, or this thread alone: with one processor, and from sources, which a thread cannot load. With two more threads, or two
 * layers at once, an image of 5 GB took 340 to 460 MiB, which is too much.
 */
export const sharedInspector = once(
  (): FileInspector =>
    typeof IMGMATCH_WORKER !== "string" || availableParallelism() === 1
      ? inThisThread
      : threadInspector(new URL(IMGMATCH_WORKER, import.meta.url)),
);
