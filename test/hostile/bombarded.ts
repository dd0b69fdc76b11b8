/** Runs attacks in a process of their own and answers with its report. */

import { spawn } from "node:child_process";
import type { answers } from "./answers.ts";
import type { AttackName } from "./attacks.ts";
import { bundledInParts } from "../support/bundle.ts";
import type { Report } from "./bombard.ts";
import { inspectAttacks } from "./inspect-attacks.ts";

/** Compiled before: as sources, a command that loads another module waits for the compiler's thread, and each input runs one. */
let bundle: Promise<string> | null = null;

export const runs = Number(process.env.HOSTILE_RUNS ?? 1000);
export const chosenSeed = Number(process.env.HOSTILE_SEED ?? Date.now() % 1_000_000);
/** The heap's bound: live objects must fit into it. Without a bound, garbage would be measured too. Opening images needs its tables besides. */
const heapMiB = 64;
/** Fifty inputs in a row take some milliseconds. */
const silenceMs = 30_000;

/** Attacks in a process of their own, which is killed when it stops saying where it is. */
export async function bombard(
  name: AttackName | keyof typeof answers,
  count: number,
  { seed, first }: { readonly seed: number; readonly first: number } = { seed: chosenSeed, first: 0 },
): Promise<Report> {
  bundle ??= bundledInParts("test/hostile/bombard.ts", "bombard");
  const program = await bundle;
  return new Promise((resolve, reject) => {
    const numbers = [seed, first, count].map(String);
    const heap = Object.hasOwn(inspectAttacks, name) ? [] : [`--max-old-space-size=${heapMiB}`];
    const child = spawn(process.execPath, [...heap, program, ...numbers, name]);
    let last = "";
    let complaint = "";
    const hangs = () => {
      child.kill("SIGKILL");
      reject(new Error(`hangs within fifty inputs of ${last}, seed ${seed}`));
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
      last = lines.at(-1) ?? last;
    });
    child.on("close", (status) => {
      clearTimeout(timer);
      if (status === 0) resolve(JSON.parse(last) as Report);
      else reject(new Error(`ended with ${status} after ${last}, seed ${seed}: ${complaint}`));
    });
  });
}
