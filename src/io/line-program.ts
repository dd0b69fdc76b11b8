/** Runs a program that answers line by line: one line of output for each line of input. */

import { spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { killGroup } from "./run-program.ts";
import { type late, within } from "./within.ts";
import type { Environment } from "./world.ts";

/** The longest answers are the facts of a host with many GPUs. */
const longestAnswer = 2 ** 22;

export interface LineProgram {
  /** Answers the next line, beside what the program wrote unasked; null if the program has ended, could not be started, or answers at too great length. Never rejects. */
  readonly ask: (line?: string) => Promise<string | null>;
  /** Kills the program and all that it started. One that is stuck in the kernel lives on until `gone`. */
  readonly kill: () => void;
  /** Resolves when the process no longer exists. */
  readonly gone: Promise<void>;
}

/**
 * @param command the program and its arguments
 * @param answers the file descriptor for the answers. With 3, whatever the program's libraries print is dropped.
 */
export function startLineProgram(
  [program, ...args]: readonly [string, ...string[]],
  env: Environment,
  answers: 1 | 3 = 1,
): LineProgram {
  // Its own process group: Ctrl-C must reach imgmatch alone, which still answers open requests.
  const child = spawn(program, args, {
    env: { ...env },
    detached: process.platform !== "win32",
    stdio: answers === 1 ? ["pipe", "pipe", "ignore"] : ["pipe", "ignore", "ignore", "pipe"],
    windowsHide: true,
  });
  const stdin = child.stdio[0] as Writable;
  const answered = child.stdio[answers] as Readable;
  let text = "";
  let waiting: ((line: string | null) => void) | null = null;
  let isOver = false;
  const answer = (line: string | null): void => {
    const resolve = waiting;
    waiting = null;
    resolve?.(line);
  };
  const over = (): void => {
    isOver = true;
    answer(null);
  };
  const gone = new Promise<void>((resolve) => {
    child.once("exit", () => resolve()).once("error", () => resolve());
  });
  child.once("error", over).once("close", over);
  stdin.on("error", over);
  answered.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    if (text.length > longestAnswer) return kill();
    const end = text.lastIndexOf("\n");
    if (end < 0 || waiting === null) return;
    // What nobody asked for, before or beside the answer, becomes a part: whoever reads the answer does not understand it.
    const lines = text.slice(0, end);
    text = text.slice(end + 1);
    answer(lines);
  });

  function kill(): void {
    over();
    for (const stream of [stdin, answered]) stream.destroy();
    // imgmatch must not wait for it to end.
    child.unref();
    killGroup(child, "SIGKILL");
  }

  return {
    ask: (line = "") =>
      new Promise((resolve) => {
        if (isOver) return resolve(null);
        waiting = resolve;
        stdin.write(`${line}\n`);
      }),
    kill,
    gone,
  };
}

/** The answer to a line; null if the program ended, {@link late} after the limit. If the signal aborts, the program is killed, and its reason thrown. */
export async function answerWithin(
  { ask, kill }: LineProgram,
  line: string,
  limitMs: number,
  signal: AbortSignal | undefined,
): Promise<string | null | typeof late> {
  signal?.addEventListener("abort", kill, { once: true });
  try {
    signal?.throwIfAborted();
    const answer = await within(limitMs, ask(line));
    signal?.throwIfAborted();
    return answer;
  } finally {
    signal?.removeEventListener("abort", kill);
  }
}
