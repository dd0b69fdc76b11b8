/**
 * A process that does nothing but attack, so that its memory is that of the code under attack:
 * `bombard.ts ATTACK,SEED,FIRST,RUNS…`. Prints `at ATTACK INDEX` while it goes on, and a report as JSON after each attack.
 */

import { readFileSync, writeSync } from "node:fs";
import { ImgmatchError } from "../../src/errors.ts";
import { problemCodes } from "../../src/problem-codes.ts";
import type { Attack } from "./attacks.ts";
import { randomFrom } from "./mutate.ts";
import { type AttackName, openingNames, readingNames } from "./names.ts";

export interface Report {
  readonly runs: number;
  readonly survived: number;
  /** Problem code → how many inputs it refused. */
  readonly refused: Readonly<Record<string, number>>;
  readonly failures: readonly string[];
  /** Of the process so far. */
  readonly peakMiB: number;
}

for (const word of process.argv.slice(2)) {
  const [name = "", ...numbers] = word.split(",");
  const report = await reportOf(name as AttackName, numbers.map(Number));
  writeSync(1, `${JSON.stringify(report)}\n`);
}
// Connections to the registry that nobody asks any more would be kept for seconds.
process.exit();

async function reportOf(
  name: AttackName,
  [seed = 1, first = 0, runs = 1]: readonly number[],
): Promise<Report> {
  const attack = await load(name);
  const refused: Record<string, number> = {};
  const failures: string[] = [];
  let survived = 0;
  for (let index = first; index < first + runs; index++) {
    if ((index - first) % 50 === 0) writeSync(1, `at ${name} ${index}\n`);
    try {
      await attack(randomFrom(seed, index));
      survived++;
    } catch (error) {
      if (error instanceof ImgmatchError && Object.hasOwn(problemCodes, error.code))
        refused[error.code] = (refused[error.code] ?? 0) + 1;
      else if (failures.length < 10)
        failures.push(`${name} ${index}, seed ${seed}: ${error instanceof Error ? error.stack : error}`);
    }
  }
  return { runs, survived, refused, failures, peakMiB: peakMiB() };
}

/** What the others attack is not in memory. */
async function load(name: AttackName): Promise<Attack> {
  if (isOf(readingNames, name)) return (await import("./attacks.ts")).attacks[name];
  if (isOf(openingNames, name)) return (await import("./inspect-attacks.ts")).inspectAttacks[name];
  return (await import("./answers.ts")).answers[name];
}

function isOf<Name extends AttackName>(names: readonly Name[], name: AttackName): name is Name {
  return (names as readonly AttackName[]).includes(name);
}

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
