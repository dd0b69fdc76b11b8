/** The end of a process that hangs inside a call when whoever asked it is gone: a thread of its own sees both. */

import { Worker } from "node:worker_threads";

/** Text, for the bundle that is one file has no other that a thread could load. */
const thread = `const { began, limit, parent } = require("node:worker_threads").workerData;
setInterval(() => {
  const since = Atomics.load(began, 0);
  const hangs = since !== 0n && process.hrtime.bigint() - since > limit;
  if (hangs && process.ppid !== parent) process.kill(process.pid, "SIGKILL");
}, 1000);`;

/**
 * Answers a function for what may hang: work that takes longer than `limitMs` while the process that started this one is no more
 * ends this one at once. It could not say anything to anybody, and nobody could tell it to end.
 */
export function endOrphan(limitMs: number): <Value>(work: () => Promise<Value>) => Promise<Value> {
  // Since when work is under way, in nanoseconds; 0 for none.
  const began = new BigInt64Array(new SharedArrayBuffer(8));
  const workerData = { began, limit: BigInt(limitMs) * 1_000_000n, parent: process.ppid };
  new Worker(thread, { eval: true, workerData }).unref();
  return async (work) => {
    Atomics.store(began, 0, process.hrtime.bigint());
    try {
      return await work();
    } finally {
      Atomics.store(began, 0, 0n);
    }
  };
}
