/** Child processes: each in a group of its own, so that stopping one stops all that it started. */

import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { createReadStream } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

export interface RunOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Aborting stops the process and everything that it started. */
  readonly signal?: AbortSignal;
  /** Milliseconds until the process is stopped; the result then has a status other than 0. */
  readonly timeoutMs?: number;
  /** File given as standard input. Without it there is none. */
  readonly inputFile?: string;
}

export interface Captured {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

type Argv = readonly [string, ...string[]];

/** Runs a command and answers its status and output. A program that does not exist has status 127. */
export async function capture(argv: Argv, options: RunOptions = {}): Promise<Captured> {
  const child = start(argv, options, ["pipe", "pipe"]);
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const status = await ended(child, options);
  return { status, stdout, stderr };
}

/** Runs a command whose output goes straight to this terminal and answers its status. */
export async function show(argv: Argv, options: RunOptions = {}): Promise<number> {
  return ended(start(argv, options, ["inherit", "inherit"]), options);
}

/** Runs a command and throws its last lines of output when it fails. */
export async function must(argv: Argv, options: RunOptions = {}): Promise<string> {
  const { status, stdout, stderr } = await capture(argv, options);
  options.signal?.throwIfAborted();
  if (status !== 0) {
    const last = `${stdout}\n${stderr}`.trim().split("\n").slice(-8).join("\n  ");
    throw new Error(`${argv.join(" ")} ended with status ${status}:\n  ${last}`);
  }
  return stdout.trim();
}

/**
 * Asks a process and all of its group to end, and insists after `graceMs`. Returns when none of them is left:
 * a shell that has ended may have left a child behind.
 */
export async function stop({ pid }: ChildProcess, graceMs: number): Promise<void> {
  if (pid === undefined) return;
  signalGroup(pid, "SIGTERM");
  for (const end = performance.now() + graceMs; performance.now() < end; await sleep(50)) {
    if (!signalGroup(pid, 0)) return;
  }
  signalGroup(pid, "SIGKILL");
}

function start(
  [program, ...args]: Argv,
  options: RunOptions,
  [out, err]: ["pipe" | "inherit", "pipe" | "inherit"],
) {
  options.signal?.throwIfAborted();
  const spawnOptions: SpawnOptions = {
    env: options.env ?? process.env,
    cwd: options.cwd,
    detached: true,
    stdio: [options.inputFile === undefined ? "ignore" : "pipe", out, err],
  };
  const child = spawn(program, args, spawnOptions);
  if (options.inputFile !== undefined && child.stdin !== null) {
    // A child that ends early closes its end; its status says so better than EPIPE does.
    child.stdin.on("error", () => {});
    createReadStream(options.inputFile).pipe(child.stdin);
  }
  return child;
}

async function ended(child: ChildProcess, { signal, timeoutMs }: RunOptions): Promise<number> {
  const halt = () => void stop(child, 15_000);
  signal?.addEventListener("abort", halt, { once: true });
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => void stop(child, 2_000), timeoutMs);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once("error", (error: NodeJS.ErrnoException) =>
        error.code === "ENOENT" ? resolve(127) : reject(error),
      );
      child.once("close", (code) => resolve(code ?? 1));
    });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", halt);
  }
}

/** Signal 0 only asks. False when no process of the group is left. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch {
    return false;
  }
}
