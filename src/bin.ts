#!/usr/bin/env node
/** The process around the command line: streams, signals, exit code. */

import { runCli } from "./cli.ts";
import type { CommandContext } from "./commands/context.ts";
import { wantsColor } from "./report/style.ts";

const controller = new AbortController();
process.on("SIGINT", interrupt);
process.on("SIGTERM", interrupt);
// `imgmatch plan | head` closes the pipe early; that is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

function interrupt(): void {
  // The first Ctrl-C lets what is being pushed and the lock be finished; the second does not wait.
  if (controller.signal.aborted) process.exit(130);
  controller.abort();
}

const context: CommandContext = {
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  env: process.env,
  cwd: process.cwd(),
  readStdin,
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
};

async function readStdin(): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks).toString("utf8");
}

// CommonJS, the form that starts soonest, has no await at the top level.
void runCli(process.argv.slice(2), context).then((exitCode) => {
  process.exitCode = exitCode;
});
