/** The program of the thread that opens files. */

import { parentPort } from "node:worker_threads";
import { sourceOf } from "../image/spool.ts";
import { inspectFile } from "../inspect-file.ts";
import { type Answer, failureAnswer, type FileRequest, type Reply, transfersOf } from "./file-answer.ts";

parentPort?.on("message", async ({ file, mayBePackaged, gpuAlone }: FileRequest) => {
  const answer = await inspectFile(sourceOf(file), mayBePackaged, gpuAlone).then(
    (found): Answer => ({ found }),
    failureAnswer,
  );
  const reply: Reply = { answer, file };
  parentPort?.postMessage(reply, transfersOf(file));
});
