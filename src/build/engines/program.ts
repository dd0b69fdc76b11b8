/** Runs an engine's own program: output by lines, ended with all that it started, failures as data. */

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { ImgmatchError } from "../../errors.ts";
import { isErrno } from "../../io/files.ts";
import type { Environment } from "../../docker/endpoint.ts";

export interface ProgramOptions {
  readonly env: Environment;
  readonly cwd?: string;
  readonly input?: string;
  readonly signal?: AbortSignal;
  /** Lines of standard error, as they come. */
  readonly onLine?: (line: string) => void;
  /** Lines of standard output, as they come. */
  readonly onOutput?: (line: string) => void;
}

export interface Ended {
  /** null when a signal ended it. */
  readonly status: number | null;
  readonly stdout: string;
  /** The last lines of standard error. */
  readonly lastLines: readonly string[];
}

const keptLines = 40;
/** How long a program gets to end by itself when it is told to. */
const graceMs = 5_000;

/** What still runs. One listener for all: Node warns of more than ten, and more than ten builds may run at a time. */
const atExit = new Set<() => void>();
process.once("exit", () => {
  for (const kill of atExit) kill();
});

/** Throws `ENGINE_NOT_FOUND` when there is no such program, and the signal's reason when it was aborted. */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: ProgramOptions,
): Promise<Ended> {
  const { env, cwd, input, signal, onLine = () => {}, onOutput } = options;
  signal?.throwIfAborted();
  // A group of its own: Ctrl-C in the terminal is for imgmatch, which decides what still ends by itself.
  const child = spawn(program, args, {
    env: { ...env },
    detached: process.platform !== "win32",
    stdio: ["pipe", "pipe", "pipe"],
    ...(cwd === undefined ? {} : { cwd }),
  });
  // Without files to open there are no streams, only the error that is still to come (node, lib/internal/child_process.js).
  if ((child.stdout as unknown) === undefined || child.stdin === null) {
    throw await new Promise((resolve) => child.once("error", resolve));
  }
  const kill = (name: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(process.platform === "win32" ? child.pid : -child.pid, name);
    } catch {
      // It has ended meanwhile.
    }
  };
  let killer: NodeJS.Timeout | undefined;
  const abort = () => {
    kill("SIGTERM");
    killer = setTimeout(() => kill("SIGKILL"), graceMs);
  };
  signal?.addEventListener("abort", abort, { once: true });
  const killAtExit = () => kill("SIGKILL");
  atExit.add(killAtExit);
  let stdout = "";
  const lastLines: string[] = [];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  if (onOutput !== undefined) {
    createInterface({ input: child.stdout, crlfDelay: Number.POSITIVE_INFINITY }).on("line", onOutput);
  }
  createInterface({ input: child.stderr, crlfDelay: Number.POSITIVE_INFINITY }).on("line", (line) => {
    lastLines.push(line);
    if (lastLines.length > keptLines) lastLines.shift();
    onLine(line);
  });
  // A program that refuses its arguments does not read its input.
  child.stdin.on("error", () => {});
  child.stdin.end(input ?? "");
  try {
    const status = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    signal?.throwIfAborted();
    return { status, stdout, lastLines };
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
    throw new ImgmatchError(
      {
        code: "ENGINE_NOT_FOUND",
        message: `${program} is not installed`,
        fix: "install it, or choose another engine with --engine",
      },
      { cause: error },
    );
  } finally {
    clearTimeout(killer);
    signal?.removeEventListener("abort", abort);
    atExit.delete(killAtExit);
  }
}
