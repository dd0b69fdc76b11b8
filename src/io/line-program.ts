/** Runs a program that answers each line of its input with one line. */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { Environment } from "./world.ts";

export interface LineProgram {
  /** Answers the next line; null if the program has ended or could not be started. Never rejects. */
  readonly ask: () => Promise<string | null>;
  /** Kills the program and all that it started. One that is stuck in the kernel lives on until `gone`. */
  readonly kill: () => void;
  /** Resolves when the process no longer exists. */
  readonly gone: Promise<void>;
}

/** @param command the program and its arguments */
export function startLineProgram(
  [program, ...args]: readonly [string, ...string[]],
  env: Environment,
): LineProgram {
  // Its own process group: Ctrl-C must reach imgmatch alone, which still answers open requests.
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(program, args, {
    env: { ...env },
    detached: process.platform !== "win32",
    stdio: ["pipe", "pipe", "ignore"],
    windowsHide: true,
  });
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
  child.stdin.on("error", over);
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    const end = text.indexOf("\n");
    if (end < 0) return;
    const line = text.slice(0, end);
    text = "";
    answer(line);
  });

  function kill(): void {
    over();
    for (const stream of [child.stdin, child.stdout]) stream.destroy();
    // imgmatch must not wait for it to end.
    child.unref();
    if (child.pid === undefined) return;
    try {
      process.kill(process.platform === "win32" ? child.pid : -child.pid, "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }

  return {
    ask: () =>
      new Promise((resolve) => {
        if (isOver) return resolve(null);
        waiting = resolve;
        child.stdin.write("\n");
      }),
    kill,
    gone,
  };
}
