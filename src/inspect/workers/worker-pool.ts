/** Opens files in threads: each has one at a time, and what waits for them has a bound of memory. */

import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { FileInspection } from "../file-inspection.ts";
import { closeSpooled, type SpooledFile } from "../image/spool.ts";
import { type Question, type Reply, readAnswer, transfersOf } from "./file-answer.ts";
import { type FileInspector, inThisThread } from "./file-inspector.ts";

interface Job {
  readonly question: Question;
  readonly bytes: number;
  readonly accept: () => void;
  readonly settle: (answer: () => FileInspection | null) => void;
}

interface Thread {
  readonly worker: Worker;
  job: Job | null;
}

/** The bytes that accepted files may take together. A larger file is opened alone. */
const maxBytes = 12 * 2 ** 20;
/** Messages, and what is told of a file. */
const minimalBytes = 2 ** 18;
/** Tables of its functions and symbols, by the libraries that have the most. */
const tablesShare = 32;

/** Threads are started when files wait for them, stay, and keep no process from its end. */
export function createWorkerPool(program: URL, maxThreads: number): FileInspector {
  const waiting: Job[] = [];
  const accepted: Job[] = [];
  const threads = new Set<Thread>();
  let held = 0;

  const pump = () => {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      if (held > 0 && held + next.bytes > maxBytes) break;
      waiting.shift();
      held += next.bytes;
      accepted.push(next);
      next.accept();
    }
    for (let job = accepted[0]; job !== undefined; job = accepted[0]) {
      const thread = [...threads].find((each) => each.job === null) ?? start();
      if (thread === null) return;
      accepted.shift();
      thread.job = job;
      thread.worker.ref();
      thread.worker.postMessage(job.question, transfersOf(job.question.file));
    }
  };

  const finish = (thread: Thread, answer: () => FileInspection | null, file: SpooledFile | null) => {
    const { job } = thread;
    thread.job = null;
    thread.worker.unref();
    if (job === null) return;
    held -= job.bytes;
    if (file !== null) closeSpooled(file);
    job.settle(answer);
    pump();
  };

  const start = (): Thread | null => {
    if (threads.size === maxThreads) return null;
    const thread: Thread = {
      worker: new Worker(program, { resourceLimits: { maxYoungGenerationSizeMb: 2 } }),
      job: null,
    };
    const lose = (error: Error) => {
      threads.delete(thread);
      const file = thread.job?.question.file ?? null;
      const raise = () => {
        throw error;
      };
      // A file in memory died with the thread.
      finish(thread, raise, file?.kind === "open" ? file : null);
    };
    thread.worker.on("message", ({ answer, file }: Reply) => finish(thread, () => readAnswer(answer), file));
    thread.worker.on("error", lose);
    thread.worker.on("exit", (code) => lose(new Error(`a thread that opens files ended with ${code}`)));
    threads.add(thread);
    return thread;
  };

  return {
    inspect(file, mayBePackaged) {
      const { promise: accepts, resolve: accept } = withResolver<void>();
      const { promise: found, resolve } = withResolver<() => FileInspection | null>();
      waiting.push({ question: { file, mayBePackaged }, bytes: bytesFor(file), accept, settle: resolve });
      pump();
      return { accepted: accepts, found: found.then((answer) => answer()) };
    },
  };
}

function bytesFor(file: SpooledFile): number {
  const held = file.kind === "memory" ? file.buffer.byteLength : 0;
  return held + Math.min(maxBytes, minimalBytes + file.size / tablesShare);
}

function withResolver<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** The thread's program beside this one, as the bundler writes it. */
declare const IMGMATCH_WORKER: string;

/** With a second one, or a second layer beside the first, an image of 5 GB took 340 to 460 MiB, more than it may. */
const maxThreads = 1;

let shared: FileInspector | null = null;

/** This thread alone where there is one processor, and where the sources run as they are, which a thread could not load. */
export function sharedInspector(): FileInspector {
  shared ??= create();
  return shared;
}

function create(): FileInspector {
  const processors = availableParallelism();
  if (typeof IMGMATCH_WORKER !== "string" || processors === 1) return inThisThread;
  return createWorkerPool(new URL(IMGMATCH_WORKER, import.meta.url), Math.min(processors, maxThreads));
}
