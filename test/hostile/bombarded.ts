/** Runs attacks in a process of their own and answers with their reports. */

import { spawn } from "node:child_process";
import { bundledInParts } from "../support/bundle.ts";
import type { Report } from "./bombard.ts";
import type { AttackName } from "./names.ts";

/** Compiled before: as sources, a command that loads another module waits for the compiler's thread, and each input runs one. */
let bundle: Promise<string> | null = null;

export const runs = Number(process.env.HOSTILE_RUNS ?? 1000);
export const chosenSeed = Number(process.env.HOSTILE_SEED ?? Date.now() % 1_000_000);
/** Fifty inputs in a row take some milliseconds. */
const silenceMs = 30_000;

export interface Bombardment {
  readonly name: AttackName;
  readonly runs: number;
  readonly seed?: number;
  readonly first?: number;
}

/**
 * Attacks one after the other in a process of their own, which is killed when it stops saying where it is.
 *
 * @param heapMiB the heap's bound: live objects must fit into it. Without a bound, garbage would be measured too.
 */
export async function bombard(
  attacks: readonly Bombardment[],
  heapMiB: number | null,
): Promise<readonly Report[]> {
  bundle ??= bundledInParts("test/hostile/bombard.ts", "bombard");
  const program = await bundle;
  return new Promise((resolve, reject) => {
    const words = attacks.map(({ name, seed = chosenSeed, first = 0, runs: count }) =>
      [name, seed, first, count].join(),
    );
    const heap = heapMiB === null ? [] : [`--max-old-space-size=${heapMiB}`];
    const child = spawn(process.execPath, [...heap, program, ...words]);
    const reports: Report[] = [];
    let last = "";
    let complaint = "";
    const hangs = () => {
      child.kill("SIGKILL");
      reject(new Error(`hangs within fifty inputs of ${last}, seeds: ${words.join(" ")}`));
    };
    let timer = setTimeout(hangs, silenceMs);
    child.stderr.on("data", (chunk) => {
      complaint += chunk;
    });
    let rest = "";
    child.stdout.on("data", (chunk) => {
      clearTimeout(timer);
      timer = setTimeout(hangs, silenceMs);
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line.startsWith("{")) reports.push(JSON.parse(line) as Report);
        else last = line;
      }
    });
    child.on("close", (status) => {
      clearTimeout(timer);
      if (status === 0 && reports.length === attacks.length) resolve(reports);
      else reject(new Error(`ended with ${status} after ${last}, seeds: ${words.join(" ")}: ${complaint}`));
    });
  });
}
