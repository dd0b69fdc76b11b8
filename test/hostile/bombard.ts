/**
 * A process that does nothing but attack, so that its memory is that of the code under attack:
 * `bombard.ts SEED FIRST RUNS ATTACK…`. Prints `at ATTACK INDEX` while it goes on, and a report as JSON at the end.
 */

import { readFileSync, writeSync } from "node:fs";
import { ImgmatchError } from "../../src/errors.ts";
import { problemCodes } from "../../src/problem-codes.ts";
import { answers } from "./answers.ts";
import { attacks } from "./attacks.ts";
import { randomFrom } from "./mutate.ts";

export interface Report {
  readonly runs: number;
  readonly survived: number;
  /** Problem code → how many inputs it refused. */
  readonly refused: Readonly<Record<string, number>>;
  readonly failures: readonly string[];
  readonly peakMiB: number;
}

const [seed = 1, first = 0, runs = 1] = process.argv.slice(2, 5).map(Number);
const all = { ...attacks, ...answers };
export type AnyAttack = keyof typeof all;
const names = process.argv.slice(5) as AnyAttack[];
const refused: Record<string, number> = {};
const failures: string[] = [];
let survived = 0;

for (const name of names) {
  for (let index = first; index < first + runs; index++) {
    if ((index - first) % 50 === 0) writeSync(1, `at ${name} ${index}\n`);
    try {
      await all[name](randomFrom(seed, index));
      survived++;
    } catch (error) {
      if (error instanceof ImgmatchError && Object.hasOwn(problemCodes, error.code))
        refused[error.code] = (refused[error.code] ?? 0) + 1;
      else if (failures.length < 10)
        failures.push(`${name} ${index}, seed ${seed}: ${error instanceof Error ? error.stack : error}`);
    }
  }
}

const report: Report = {
  runs: runs * names.length,
  survived,
  refused,
  failures,
  peakMiB: peakMiB(),
};
writeSync(1, `${JSON.stringify(report)}\n`);
// Connections to the registry that nobody asks any more would be kept for seconds.
process.exit();

/** Linux counts the memory of the parent into `maxRSS` of a process that it started; VmHWM is this process's own. */
function peakMiB(): number {
  try {
    const kib = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
    if (kib !== undefined) return Number(kib) / 1024;
  } catch {
    // Not Linux.
  }
  return process.resourceUsage().maxRSS / 1024;
}
