/** A program that answers each line of its input with one line: asked one question at a time, and killed when it does not answer. */

import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

export interface LineProgram {
  /** The next line; null when the program ended, or could not be started. Rejects never. */
  readonly ask: () => Promise<string | null>;
  /** At once, with all that it started. A process that is stuck inside the kernel goes on until the kernel lets it go: see `gone`. */
  readonly kill: () => void;
  /** Resolves when the system has no such process any more. */
  readonly gone: Promise<void>;
}

/** @param command the program and its arguments */
export function startLineProgram(
  [program, ...args]: readonly [string, ...string[]],
  env: Readonly<Record<string, string | undefined>>,
): LineProgram {
  // Another process group: Ctrl-C in a terminal is for imgmatch, which still answers what is under way.
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
    const hears = waiting;
    waiting = null;
    hears?.(line);
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
    // imgmatch ends without waiting for it.
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
