/** The lines of a helper's standard input. A thread reads the lines, and sees the end of the input even while a driver holds the main thread. */

import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { Worker } from "node:worker_threads";

/** As long as nvidia-smi may take, and some more. */
const lastAnswerMs = 20_000;

/** Without its parent the process ends: if the process takes no further line in this time, the thread kills it. */
const program = `
const { parentPort, workerData: { taken, lastAnswerMs } } = require("node:worker_threads");
new (require("node:net").Socket)({ fd: 0, readable: true, writable: false })
  .on("data", (chunk) => parentPort.postMessage(chunk))
  .on("error", () => {})
  .on("close", () => {
    parentPort.postMessage(null);
    let before = taken[0];
    let quarters = 0;
    setInterval(() => {
      quarters = taken[0] === before ? quarters + 1 : 0;
      if (quarters === 4) process.kill(process.pid, "SIGKILL");
      before = taken[0];
    }, lastAnswerMs / 4);
  });
`;

/** For standard input that is a pipe or a socket. */
export async function* watchedLines(): AsyncGenerator<string> {
  const taken = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(program, { eval: true, workerData: { taken, lastAnswerMs } });
  const input = new PassThrough();
  worker.on("message", (chunk: Uint8Array | null) => (chunk === null ? input.end() : input.write(chunk)));
  worker.on("error", (error) => input.destroy(error));
  try {
    for await (const line of createInterface({ input })) {
      Atomics.add(taken, 0, 1);
      yield line;
    }
  } finally {
    await worker.terminate();
  }
}
