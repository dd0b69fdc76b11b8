/** Runs a program without a shell. Time and output can be limited. When the program ends, its children end too. */

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { Readable } from "node:stream";
import { attempt } from "./attempt.ts";
import type { Environment } from "./world.ts";

export interface ProgramOptions {
  readonly env: Environment;
  readonly cwd?: string;
  /** Standard input. Default: none. */
  readonly input?: string;
  /** Ends the program with SIGTERM, and after a while with SIGKILL. */
  readonly signal?: AbortSignal;
  /** After this many milliseconds the program and its children are killed. */
  readonly timeoutMs?: number;
  /** With more output, the program is killed. */
  readonly maxBytes?: number;
  /** Standard error is dropped, and no child of the program can hold its pipe open. */
  readonly dropErrors?: boolean;
  /** Gets each line of standard error, which is not kept then. */
  readonly onLine?: (line: string) => void;
  /** Gets each line of standard output. */
  readonly onOutput?: (line: string) => void;
}

export interface EndedProgram {
  /** Exit status; null if a signal ended it. */
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
}

/** The time between SIGTERM and SIGKILL. */
const graceMs = 5_000;

/** Functions that kill running programs. They share one listener: Node warns of more than ten, and more builds may run at a time. */
const running = new Set<() => void>();

const killAll = () => {
  for (const kill of running) kill();
};

/** Rejects with the system's error if the program cannot be started, and with the signal's reason if it was aborted. */
export async function runProgram(
  program: string,
  args: readonly string[],
  options: ProgramOptions,
): Promise<EndedProgram> {
  const { env, cwd, input, signal, timeoutMs, maxBytes = Number.POSITIVE_INFINITY } = options;
  const { dropErrors = false, onLine, onOutput } = options;
  signal?.throwIfAborted();
  // Loaded here, so that a probe without programs starts sooner.
  const { spawn } = process.getBuiltinModule("node:child_process");
  // Its own process group: a script's children end with it, and Ctrl-C reaches imgmatch alone.
  const child = spawn(program, args, {
    env: { ...env },
    detached: process.platform !== "win32",
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", dropErrors ? "ignore" : "pipe"],
    windowsHide: true,
    ...(cwd === undefined ? {} : { cwd }),
  });
  const stdout: Readable | null | undefined = child.stdout;
  const { stderr } = child;
  // With too many open files there are no streams, and the error follows (node, lib/internal/child_process.js).
  if (stdout === null || stdout === undefined) {
    throw await new Promise((resolve) => child.once("error", resolve));
  }
  const kill = (name: NodeJS.Signals) => killGroup(child, name);
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
  // A program that refuses its arguments reads no input: that is no error.
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
        // Do not wait for the end: a process that is stuck in the kernel survives SIGKILL until the driver returns.
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

/** Signals a program that leads a process group, and all that it started. */
export function killGroup({ pid }: { readonly pid?: number | undefined }, name: NodeJS.Signals): void {
  // The program may have ended.
  if (pid !== undefined) attempt(() => process.kill(process.platform === "win32" ? pid : -pid, name), false);
}

function eachLine(input: Readable, onLine: (line: string) => void): void {
  const { createInterface } = process.getBuiltinModule("node:readline");
  createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }).on("line", onLine);
}

/** null if PATH has none. */
export function findProgram(name: string, env: Environment): string | null {
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
