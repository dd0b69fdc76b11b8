/**
 * Damaged cpuinfo, nvidia-smi, facts, locks, nodes, programs and images: never an exception that is not one of our codes, never a hang, never more
 * than 200 MB and one window of zstd. HOSTILE_RUNS is the number of inputs, HOSTILE_SEED repeats a run.
 */

import { describe, expect, it } from "vitest";
import type { Report } from "./bombard.ts";
import { type Bombardment, bombard, chosenSeed, runs } from "./bombarded.ts";
import { type AttackName, openingNames, printingNames, readingNames } from "./names.ts";
import { isLong } from "../support/long.ts";

const maxMiB = 200;
/** The bound that docs/inspect.md promises: opening images needs a decoder and its tables besides. */
const maxOpeningMiB = 300;
/** A zstd frame may ask for a window of 128 MiB, as `zstd --long` writes it, and damage makes some do so. */
const zstdWindowMiB = 128;
const hasZstd = new Set<AttackName>(["layer", "packedLayer", "image"]);

const each = Math.ceil(runs / (readingNames.length + openingNames.length));
// 100,000 images, programs, containers and archives, when there is time for it.
const eachOpened = isLong ? Math.ceil(100_000 / openingNames.length) : each;
const eachPrinting = Math.ceil(runs / printingNames.length);
const heapMiB = 64;
const notEndedOnce: Bombardment = { name: "layer", seed: 99, first: 3788, runs: 1 };

/** A group of attacks shares a process, which the first test of the group starts. */
const reading = group(named(readingNames, each), heapMiB);
const opening = group([...named(openingNames, eachOpened), notEndedOnce], null);
const printing = group(named(printingNames, eachPrinting), heapMiB);

function named(names: readonly AttackName[], count: number): readonly Bombardment[] {
  return names.map((name) => ({ name, runs: count }));
}

function group(attacks: readonly Bombardment[], heap: number | null) {
  let reports: Promise<readonly Report[]> | null = null;
  return async (index: number): Promise<Report> => {
    reports ??= bombard(attacks, heap);
    const report = (await reports)[index];
    if (report === undefined) throw new Error(`no report of attack ${index}`);
    return report;
  };
}

describe(`${runs} hostile inputs (HOSTILE_SEED=${chosenSeed})`, () => {
  const cases = [
    ...readingNames.map((name, index) => [name, each, maxMiB, () => reading(index)] as const),
    ...openingNames.map((name, index) => [name, eachOpened, maxOpeningMiB, () => opening(index)] as const),
  ];
  it.concurrent.each(cases)("%s", { timeout: 1_800_000 }, async (name, count, bound, reported) => {
    const report = await reported();
    expect(report.failures).toEqual([]);
    expect(report.runs).toBe(count);
    expect(report.survived + Object.values(report.refused).reduce((sum, one) => sum + one, 0)).toBe(count);
    // Damage that is always refused, or never does any, would prove nothing. Of a few dozen inputs chance may refuse all.
    if (count >= 500) expect(report.survived).toBeGreaterThan(count / 50);
    expect(report.peakMiB).toBeLessThan(bound + (hasZstd.has(name) ? zstdWindowMiB : 0));
  });
});

describe("an input that did not end once", () => {
  const { name, seed, first } = notEndedOnce;
  it.concurrent(`${name}, seed ${seed}, input ${first}`, { timeout: 1_800_000 }, async () =>
    expect((await opening(openingNames.length)).failures).toEqual([]),
  );
});

describe(`${runs} damaged locks, indexes, facts and labels (HOSTILE_SEED=${chosenSeed})`, () => {
  it.concurrent.each(printingNames.map((name, index) => [name, index] as const))(
    "%s put no byte outside the grammar on standard output",
    { timeout: 900_000 },
    async (_, index) => {
      const report = await printing(index);
      expect(report.failures).toEqual([]);
      expect(report.runs).toBe(eachPrinting);
      // Few are still facts or a lock behind the damage: how many is chance.
      expect(report.survived).toBeGreaterThan(0);
      expect(Object.keys(report.refused).length).toBeGreaterThan(1);
    },
  );
});
