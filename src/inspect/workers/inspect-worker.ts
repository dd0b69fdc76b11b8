/** The program of a thread that opens files, one after the other. */

import { parentPort } from "node:worker_threads";
import { inspectFile } from "../inspect-file.ts";
import { type SpooledFile, sourceOf } from "../spooled-file.ts";
import { type Answer, answerOf, type Reply, transfersOf } from "./answer.ts";

parentPort?.on("message", async (file: SpooledFile) => {
  const answer = await inspectFile(sourceOf(file)).then((found): Answer => ({ found }), answerOf);
  const reply: Reply = { answer, file };
  parentPort?.postMessage(reply, transfersOf(file));
});
