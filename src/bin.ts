#!/usr/bin/env node
/** The process around the command line: streams, signals, exit code. */

import { runCli } from "./cli.ts";
import type { CommandContext, SignalMode } from "./commands/context.ts";
import { exitCodes } from "./errors.ts";
import { inputLimits, inputTooLarge } from "./input/limits.ts";
import { wantsColor } from "./report/style.ts";

const controller = new AbortController();
let mode: SignalMode | "end" = "end";
// What is under way and listens to the signal may say what it was doing; what does not is not waited for.
const graceMs = 300;
process.on("SIGINT", interrupt);
process.on("SIGTERM", interrupt);

function interrupt(): void {
  const again = controller.signal.aborted;
  controller.abort();
  if (mode === "child") return;
  if (again) process.exit(exitCodes.interrupted);
  setTimeout(() => {
    if (mode === "end") process.exit(exitCodes.interrupted);
  }, graceMs).unref();
}

const opened = new Set<NodeJS.WriteStream>();

/**
 * `imgmatch build 2>&1 | head` closes the pipe early. That is no failure, and no reason to leave work half done: what nobody
 * reads is dropped, and the exit code stays that of the command. A stream that nothing is written to is not opened: each takes
 * a millisecond.
 */
function write(stream: NodeJS.WriteStream, text: string): void {
  if (!opened.has(stream)) {
    opened.add(stream);
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
    });
  }
  stream.write(text);
}

const context: CommandContext = {
  out: (text) => write(process.stdout, text),
  err: (text) => write(process.stderr, text),
  env: process.env,
  cwd: process.cwd(),
  readStdin,
  stdinLines,
  self: [process.execPath, ...process.execArgv, ...process.argv.slice(1, 2)],
  terminal: {
    get animated() {
      return process.stderr.isTTY === true && process.env.TERM !== "dumb" && process.env.CI === undefined;
    },
    get interactive() {
      return process.stdin.isTTY === true && process.stdout.isTTY === true;
    },
    get columns() {
      return process.stderr.columns || 80;
    },
    get color() {
      return {
        out: wantsColor(process.env, process.stdout.isTTY === true),
        err: wantsColor(process.env, process.stderr.isTTY === true),
      };
    },
  },
  signal: controller.signal,
  takeSignals: (next) => {
    mode = next;
  },
};

async function readStdin(): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk as Uint8Array);
    size += (chunk as Uint8Array).length;
    if (size > inputLimits.facts.bytes)
      throw inputTooLarge(inputLimits.facts, null, { file: "standard input" });
  }
  return Buffer.concat(chunks).toString("utf8");
}

async function* stdinLines(): AsyncGenerator<string> {
  const { createInterface } = await import("node:readline");
  yield* createInterface({ input: process.stdin });
}

// CommonJS, the form that starts soonest, has no await at the top level.
void runCli(process.argv.slice(2), context).then((exitCode) => {
  const stopped = mode === "end" && controller.signal.aborted;
  process.exitCode = stopped ? exitCodes.interrupted : exitCode;
});
