/**
 * Damaged cpuinfo, nvidia-smi, facts, locks and nodes: never an exception that is not one of our codes, never a hang, never more
 * than 200 MB. HOSTILE_RUNS is the number of inputs, HOSTILE_SEED repeats a run.
 */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type AttackName, attacks } from "./attacks.ts";
import type { Report } from "./bombard.ts";

const program = fileURLToPath(new URL("./bombard.ts", import.meta.url));
const names = Object.keys(attacks) as AttackName[];
const runs = Number(process.env.HOSTILE_RUNS ?? 4000);
const seed = Number(process.env.HOSTILE_SEED ?? Date.now() % 1_000_000);
/** Fifty inputs in a row take some milliseconds. */
const silenceMs = 30_000;
/** So long takes only what hangs; a busy machine alone can take a second. */
const perInputMs = 5000;

describe(`${runs} hostile inputs (HOSTILE_SEED=${seed})`, () => {
  const each = Math.ceil(runs / names.length);

  it.concurrent.each(names.map((name) => [name]))("%s", { timeout: 600_000 }, async (name) => {
    const report = await bombard(name, each);
    expect(report.failures).toEqual([]);
    expect(report.runs).toBe(each);
    expect(report.survived + Object.values(report.refused).reduce((sum, count) => sum + count, 0)).toBe(each);
    // Damage that is always refused, or never does any, would prove nothing.
    expect(report.survived).toBeGreaterThan(each / 50);
    expect(report.slowestMs, report.slowest).toBeLessThan(perInputMs);
    expect(report.peakMiB).toBeLessThan(200);
  });
});

/** Attacks in a process of their own, which is killed when it stops saying where it is. */
function bombard(name: AttackName, count: number): Promise<Report> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--import", "tsx", program, String(seed), String(count), name]);
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
