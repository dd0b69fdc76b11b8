/** Opens files in other threads, each one at a time. The memory of the files that wait for them has a bound. */

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

/** The thread starts with the first file and stays. The process may end though the thread runs. */
interface Thread {
  worker: Worker | null;
  running: Job | null;
}

/** The bytes that all accepted files may take together for each thread. Of larger files as many are opened as there are threads. */
const maxBytes = 12 * 2 ** 20;
/** For messages, and for the findings in a file. */
const minimalBytes = 2 ** 18;
/** The share of a file's size that tables of functions and symbols take in the libraries that have the most. */
const tablesShare = 32;

export function threadInspector(program: URL, count = 1): FileInspector {
  const waiting: Job[] = [];
  const accepted: Job[] = [];
  const threads = Array.from({ length: count }, (): Thread => ({ worker: null, running: null }));
  let heldBytes = 0;

  const pump = () => {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      if (heldBytes > 0 && heldBytes + next.bytes > count * maxBytes) break;
      waiting.shift();
      heldBytes += next.bytes;
      accepted.push(next);
      next.accept();
    }
    for (const thread of threads) {
      if (thread.running !== null) continue;
      const job = accepted.shift();
      if (job === undefined) return;
      thread.running = job;
      thread.worker ??= start(thread);
      thread.worker.ref();
      thread.worker.postMessage(job.question, transfersOf(job.question.file));
    }
  };

  const finish = (thread: Thread, answer: () => FileInspection | null, file: SpooledFile | null) => {
    const job = thread.running;
    if (job === null) return;
    thread.running = null;
    thread.worker?.unref();
    heldBytes -= job.bytes;
    if (file !== null) closeSpooled(file);
    job.end(answer);
    pump();
  };

  const start = (thread: Thread): Worker => {
    const started = new Worker(program, { resourceLimits: { maxYoungGenerationSizeMb: 16 } });
    const lose = (error: Error) => {
      // "exit" follows "error", when another thread may be at work.
      if (thread.worker !== started) return;
      thread.worker = null;
      const file = thread.running?.question.file ?? null;
      const raise = () => {
        throw error;
      };
      // A file in memory died with the thread.
      finish(thread, raise, file?.kind === "open" ? file : null);
    };
    started.on("message", ({ answer, file }: Reply) => finish(thread, () => readAnswer(answer), file));
    started.on("error", lose);
    started.on("exit", (code) => lose(new Error(`a thread that opens files ended with ${code}`)));
    return started;
  };

  /** A thread that is at work on the file ends; the next file starts another one. */
  const drop = (job: Job) => {
    void threads.find(({ running }) => running === job)?.worker?.terminate();
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
    inspect(file, mayBePackaged, gpuAlone = false) {
      const { promise: accepts, resolve: accept } = withResolver<void>();
      const { promise: found, resolve } = withResolver<() => FileInspection | null>();
      const job = {
        question: { file, mayBePackaged, gpuAlone },
        bytes: bytesFor(file),
        accept,
        end: resolve,
      };
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

const mostThreads = 4;
/** Each further thread took 65 to 90 MiB, and this process must not take what others use. */
const memoryPerThread = 2 ** 29;

/** One with two processors: with two threads, an image of 5 GB took 340 to 460 MiB, which is too much for a small machine. */
export function threadsFor(processors: number, freeBytes: number): number {
  if (processors <= 2) return processors - 1;
  return Math.max(1, Math.min(mostThreads, processors, Math.floor(freeBytes / memoryPerThread)));
}

/** Other threads, or this thread alone: with one processor, and from sources, which a thread cannot load. */
export const sharedInspector = once((): FileInspector => {
  const count = threadsFor(availableParallelism(), process.availableMemory());
  return typeof IMGMATCH_WORKER !== "string" || count === 0
    ? inThisThread
    : threadInspector(new URL(IMGMATCH_WORKER, import.meta.url), count);
});
