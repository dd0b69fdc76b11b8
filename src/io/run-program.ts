/** Runs one program without a shell: bounded in time and output, and ended with all that it started. */

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { Readable } from "node:stream";
import { attempt } from "./attempt.ts";

export interface ProgramOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Its standard input; without it there is none. */
  readonly input?: string;
  /** Ends it: politely, then not. */
  readonly signal?: AbortSignal;
  /** After this many milliseconds it is killed with its children. */
  readonly timeoutMs?: number;
  /** Output beyond this many bytes ends it too. */
  readonly maxBytes?: number;
  /** Standard error goes nowhere, and what the program leaves behind can hold no pipe of it. */
  readonly dropErrors?: boolean;
  /** Lines of standard error, as they come; they are not kept then. */
  readonly onLine?: (line: string) => void;
  /** Lines of standard output, as they come. */
  readonly onOutput?: (line: string) => void;
}

export interface EndedProgram {
  /** Exit status, or null when a signal ended it. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
}

/** How long a program gets to end by itself when it is told to. */
const graceMs = 5_000;

/** Programs that still run. One listener for all: Node warns of more than ten, and more than ten builds may run at a time. */
const running = new Set<() => void>();

const killAll = () => {
  for (const kill of running) kill();
};

/** Rejects with the system's error when it cannot be started, and with the signal's reason when it was aborted. */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: ProgramOptions,
): Promise<EndedProgram> {
  const { env, cwd, input, signal, timeoutMs, maxBytes = Number.POSITIVE_INFINITY } = options;
  const { dropErrors = false, onLine, onOutput } = options;
  signal?.throwIfAborted();
  // Loaded here: a probe that needs no program starts sooner without it.
  const { spawn } = process.getBuiltinModule("node:child_process");
  // Another process group: a script's children end with it, and Ctrl-C in the terminal is for imgmatch, which decides what still ends by
  // itself.
  const child = spawn(program, args, {
    env: { ...env },
    detached: process.platform !== "win32",
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", dropErrors ? "ignore" : "pipe"],
    windowsHide: true,
    ...(cwd === undefined ? {} : { cwd }),
  });
  const stdout: Readable | null | undefined = child.stdout;
  const { stderr } = child;
  // Without files to open there are no streams, only the error that is still to come (node, lib/internal/child_process.js).
  if (stdout === null || stdout === undefined) {
    throw await new Promise((resolve) => child.once("error", resolve));
  }
  const kill = (name: NodeJS.Signals) => {
    const { pid } = child;
    // It may have ended meanwhile.
    if (pid !== undefined)
      attempt(() => process.kill(process.platform === "win32" ? pid : -pid, name), false);
  };
  const killNow = () => kill("SIGKILL");
  let size = 0;
  const collect = (chunks: Buffer[]) => (chunk: Buffer) => {
    if (size < maxBytes) chunks.push(chunk.subarray(0, maxBytes - size));
    size += chunk.length;
    if (size > maxBytes) killNow();
  };
  const printed: { readonly stdout: Buffer[]; readonly stderr: Buffer[] } = { stdout: [], stderr: [] };
  stdout.on("data", collect(printed.stdout));
  if (onOutput !== undefined) eachLine(stdout, onOutput);
  if (onLine === undefined) stderr?.on("data", collect(printed.stderr));
  else if (stderr !== null) eachLine(stderr, onLine);
  // A program that refuses its arguments does not read its input.
  child.stdin?.on("error", () => {}).end(input);

  let killer: NodeJS.Timeout | undefined;
  const abort = () => {
    kill("SIGTERM");
    killer = setTimeout(killNow, graceMs);
  };
  signal?.addEventListener("abort", abort, { once: true });
  if (running.size === 0) process.on("exit", killAll);
  running.add(killNow);
  let timer: NodeJS.Timeout | undefined;
  try {
    const ended = await new Promise<{ status: number | null; timedOut: boolean }>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (status) => resolve({ status, timedOut: false }));
      if (timeoutMs === undefined) return;
      timer = setTimeout(() => {
        killNow();
        // A process stuck inside the kernel survives SIGKILL until the driver lets it go: it is not waited for.
        stdout.destroy();
        stderr?.destroy();
        child.unref();
        resolve({ status: null, timedOut: true });
      }, timeoutMs);
    });
    signal?.throwIfAborted();
    const textOf = (chunks: readonly Buffer[]) => Buffer.concat(chunks).toString("utf8");
    return { ...ended, stdout: textOf(printed.stdout), stderr: textOf(printed.stderr) };
  } finally {
    clearTimeout(timer);
    clearTimeout(killer);
    signal?.removeEventListener("abort", abort);
    running.delete(killNow);
    if (running.size === 0) process.off("exit", killAll);
  }
}

function eachLine(input: Readable, onLine: (line: string) => void): void {
  const { createInterface } = process.getBuiltinModule("node:readline");
  createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }).on("line", onLine);
}

/** null where there is none in PATH. */
export function findProgram(name: string, env: Readonly<Record<string, string | undefined>>): string | null {
  const names = process.platform === "win32" ? [`${name}.exe`, `${name}.cmd`] : [name];
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.flatMap((folder) => names.map((each) => join(folder, each))).find(isProgram) ?? null;
}

export function isProgram(path: string): boolean {
  return attempt(() => {
    accessSync(path, constants.X_OK);
    return true;
  }, false);
}
