#!/usr/bin/env node
/** The process around the command line: streams, signals, exit code. */

import { runCli } from "./cli.ts";
import type { CommandContext, SignalMode } from "./command-context.ts";
import { exitCodes } from "../errors.ts";
import { readStandardInput } from "../io/standard-input.ts";
import { createLog, createWriter } from "../io/standard-stream.ts";
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

const world: Omit<CommandContext, "onEvent"> = {
  out: createWriter(1, () => process.stdout),
  err: createWriter(2, () => process.stderr),
  log: createLog(() => process.stderr),
  env: process.env,
  cwd: process.cwd(),
  machinePolicy: "/etc/imgmatch/trust.yaml",
  readStdin: readStandardInput,
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

async function* stdinLines(): AsyncGenerator<string> {
  const { createInterface } = await import("node:readline");
  yield* createInterface({ input: process.stdin });
}

// CommonJS, the form that starts soonest, has no await at the top level.
void runCli(process.argv.slice(2), world).then((exitCode) => {
  const stopped = mode === "end" && controller.signal.aborted;
  process.exitCode = stopped ? exitCodes.interrupted : exitCode;
});
