/** The threads of this process that open files: as many as it has processors, to a bound. */

import { availableParallelism } from "node:os";
import { type FileInspector, inThisThread } from "./file-inspector.ts";
import { createWorkerPool } from "./worker-pool.ts";

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
