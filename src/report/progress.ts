/** The one line of a running build. */

import { printable } from "../input/printable.ts";

export interface Progress {
  readonly total: number;
  readonly done: number;
  readonly failed: number;
  /** Cell → when it began, in milliseconds of the same clock as `now`. */
  readonly running: ReadonlyMap<string, number>;
  readonly started: number;
  readonly now: number;
  readonly columns: number;
}

/** `12/58 done, 4 running, 1 failed, 2:31  12.8.1_8.0_x86-64-v3 (41 s), …`, never wider than the terminal. */
export function progressLine(progress: Progress): string {
  const { total, done, failed, running, started, now, columns } = progress;
  const head = `${done}/${total} done, ${running.size} running, ${failed} failed, ${clockText(now - started)}`;
  const cells = [...running].map(
    ([cell, since]) => `${printable(cell)} (${Math.round((now - since) / 1000)} s)`,
  );
  const line = cells.length === 0 ? head : `${head}  ${cells.join(", ")}`;
  return line.length < columns ? line : `${line.slice(0, Math.max(0, columns - 2))}…`;
}

function clockText(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  const rest = String(seconds % 60).padStart(2, "0");
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}
