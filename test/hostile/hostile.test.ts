/**
 * Damaged cpuinfo, nvidia-smi, facts, locks, nodes, programs and images: never an exception that is not one of our codes, never a hang, never more
 * than 200 MB and one window of zstd. HOSTILE_RUNS is the number of inputs, HOSTILE_SEED repeats a run.
 */

import { describe, expect, it } from "vitest";
import { answers } from "./answers.ts";
import { type AttackName, attacks } from "./attacks.ts";
import { bombard, chosenSeed, runs } from "./bombarded.ts";
import { inspectAttacks } from "./inspect-attacks.ts";
import { isLong } from "../support/long.ts";

const names = Object.keys(attacks) as AttackName[];
const maxMiB = 200;
/** The bound that docs/inspect.md promises: opening images needs a decoder and its tables besides. */
const maxOpeningMiB = 300;
/** A zstd frame may ask for a window of 128 MiB, as `zstd --long` writes it, and damage makes some do so. */
const zstdWindowMiB = 128;
const hasZstd = new Set<AttackName>(["layer", "packedLayer", "image"]);

describe(`${runs} hostile inputs (HOSTILE_SEED=${chosenSeed})`, () => {
  const each = Math.ceil(runs / names.length);
  // 100,000 images, programs, containers and archives, when there is time for it.
  const eachOpened = isLong ? Math.ceil(100_000 / Object.keys(inspectAttacks).length) : each;

  it.concurrent.each(names.map((name) => [name]))("%s", { timeout: 1_800_000 }, async (name) => {
    const count = Object.hasOwn(inspectAttacks, name) ? eachOpened : each;
    const report = await bombard(name, count);
    expect(report.failures).toEqual([]);
    expect(report.runs).toBe(count);
    expect(report.survived + Object.values(report.refused).reduce((sum, one) => sum + one, 0)).toBe(count);
    // Damage that is always refused, or never does any, would prove nothing. Of a few dozen inputs chance may refuse all.
    if (count >= 500) expect(report.survived).toBeGreaterThan(count / 50);
    const bound = Object.hasOwn(inspectAttacks, name) ? maxOpeningMiB : maxMiB;
    expect(report.peakMiB).toBeLessThan(bound + (hasZstd.has(name) ? zstdWindowMiB : 0));
  });
});

describe("inputs that did not end once", () => {
  it.concurrent.each([["layer", 99, 3788]] as const)(
    "%s, seed %i, input %i",
    { timeout: 60_000 },
    async (name, seed, first) => expect((await bombard(name, 1, { seed, first })).failures).toEqual([]),
  );
});

describe(`${runs} damaged locks, indexes, facts and labels (HOSTILE_SEED=${chosenSeed})`, () => {
  const printing = Object.keys(answers) as (keyof typeof answers)[];
  const each = Math.ceil(runs / printing.length);

  it.concurrent.each(printing.map((name) => [name]))(
    "%s put no byte outside the grammar on standard output",
    { timeout: 900_000 },
    async (name) => {
      const report = await bombard(name, each);
      expect(report.failures).toEqual([]);
      expect(report.runs).toBe(each);
      // Few are still facts or a lock behind the damage: how many is chance.
      expect(report.survived).toBeGreaterThan(0);
      expect(Object.keys(report.refused).length).toBeGreaterThan(1);
    },
  );
});
