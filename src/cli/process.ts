/** The process of the command line: streams, signals, exit code. */

import { fstatSync, statSync } from "node:fs";
import { runCli } from "./cli.ts";
import type { CommandContext, CommandTable, SignalMode } from "./command.ts";
import { exitCodes } from "../problem-codes.ts";
import { readStandardInput } from "../io/world.ts";
import { createLog, createWriter } from "../io/standard-stream.ts";
import { bugReport } from "./report-error.ts";
import { wantsColor } from "./report/style.ts";

const controller = new AbortController();
let mode: SignalMode | "end" = "end";
// Time for a command to report what it was doing. The process waits for nothing else.
const graceMs = 300;
process.on("SIGINT", interrupt);
process.on("SIGTERM", interrupt);
// Node would print the line of the source, and a bundle is one line.
process.on("uncaughtException", (error) => {
  world.err(bugReport(error));
  process.exit(exitCodes.failed);
});

function interrupt(): void {
  if (mode === "child") return;
  const again = controller.signal.aborted;
  controller.abort();
  if (again) process.exit(exitCodes.interrupted);
  setTimeout(() => {
    if (mode === "end") process.exit(exitCodes.interrupted);
  }, graceMs).unref();
}

const world: Omit<CommandContext, "onEvent" | "ports"> = {
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
      return isTerminal(2) && process.env.TERM !== "dumb" && process.env.CI === undefined;
    },
    get interactive() {
      return isTerminal(0) && isTerminal(1);
    },
    get columns() {
      return process.stderr.columns || 80;
    },
    get width() {
      return (isTerminal(1) && process.stdout.columns) || Number.POSITIVE_INFINITY;
    },
    color: {
      get out() {
        return wantsColor(process.env, isTerminal(1));
      },
      get err() {
        return wantsColor(process.env, isTerminal(2));
      },
    },
  },
  signal: controller.signal,
  takeSignals: (next) => {
    mode = next;
  },
};

/** Asks the file first: Node's streams take milliseconds to load, and a pipe, a file or `/dev/null` is no terminal. */
function isTerminal(descriptor: 0 | 1 | 2): boolean {
  try {
    const file = fstatSync(descriptor);
    if (!file.isCharacterDevice() || file.rdev === nullDevice()) return false;
  } catch {
    return false;
  }
  const stream = descriptor === 0 ? process.stdin : descriptor === 1 ? process.stdout : process.stderr;
  return stream.isTTY === true;
}

function nullDevice(): number | undefined {
  return statSync("/dev/null", { throwIfNoEntry: false })?.rdev;
}

async function* stdinLines(): AsyncGenerator<string> {
  const input = fstatSync(0);
  if (input.isFIFO() || input.isSocket())
    return yield* (await import("../io/watched-input.ts")).watchedLines();
  const { createInterface } = await import("node:readline");
  yield* createInterface({ input: process.stdin });
}

/** Runs this program's commands. The bundle is CommonJS, which starts soonest and has no await at the top level. */
export function runProcess(commands: CommandTable, ports: CommandContext["ports"]): void {
  void runCli(process.argv.slice(2), commands, { ...world, ports }).then((exitCode) => {
    const stopped = mode === "end" && controller.signal.aborted;
    process.exitCode = stopped ? exitCodes.interrupted : exitCode;
  });
}
