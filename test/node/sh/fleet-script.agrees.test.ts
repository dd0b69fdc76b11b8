import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import type { Lock, LockedImage } from "../../../src/lock/lock.ts";
import { anyLock } from "../../properties/support/machines.ts";
import { rounds } from "../../support/long.ts";
import { needs } from "../../support/needs.ts";
import { type Chance, pick } from "./support/chance.ts";
import { findDialects, whyNoDialect } from "./support/dialects.ts";
import { wholeFleet } from "./support/fleet.ts";
import { randomAmdLock, randomAmdMachine } from "./support/random-amd.ts";
import { randomMachine } from "./support/random-machine.ts";
import { askedOf, compare, type Draws } from "./support/script-answers.ts";

/** So many machines, and half as many with GPUs of AMD; IMGMATCH_LONG=1 takes a quarter of an hour. */
const runs = rounds(100, 10_000);
const seed = Number(process.env.IMGMATCH_SH_SEED ?? 20261121);
/** Slow shells take their part of a second for each machine. */
const timeoutMs = Math.max(120_000, runs * 360);

const folder = mkdtempSync(join(tmpdir(), "imgmatch-sh-random-"));
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const dialects = findDialects(join(folder, "awks"));

const preferences = [
  ["toolkit"],
  ["code"],
  ["tier", "cuda=12.4r"],
  ["targets", "cpu"],
  ["march=x86-64-v3"],
  ["gpu"],
  ["cpu", "code"],
];

function randomLock(chance: Chance, round: number): Lock {
  const prefer = chance() < 0.5 ? {} : { prefer: pick(chance, preferences) };
  if (chance() < 0.4) {
    const [lock] = fc.sample(anyLock, { seed: seed + round, numRuns: 1 });
    if (lock !== undefined) return { ...lock, ...(chance() < 0.5 ? {} : { prefer: ["code"] }) };
  }
  const share = chance();
  const fleet = wholeFleet((cell) => /x86-64|arrowlake/.test(cell) && chance() < share);
  const images = Object.entries(fleet.images).map(([cell, image]) => [cell, measuredBy(chance, image)]);
  return { ...fleet, images: Object.fromEntries(images), ...prefer };
}

function measuredBy(chance: Chance, image: LockedImage): LockedImage {
  if (chance() < 0.5) return image;
  const share = chance();
  const unused = image.requires.cpu.features.filter(() => chance() < share);
  return { ...image, measured: { rules: 1, cpu: { unused }, cuda: null } };
}

interface Drawn extends Draws {
  /** Each of these answers is given more often than this. */
  readonly answers: readonly string[];
  readonly least: number;
}

const drawn: Readonly<Record<string, Drawn>> = {
  "of NVIDIA": {
    machine: randomMachine,
    lock: randomLock,
    pins: () => ({ cuda: "none" }),
    ...{ runs, perFleet: 40, answers: ["cpu", "nvidia", "none", "broken"], least: runs / 50 },
  },
  "of AMD": {
    machine: randomAmdMachine,
    lock: (chance, round) => (chance() < 0.75 ? randomAmdLock(chance) : randomLock(chance, round)),
    pins: (chance) => pick(chance, [{ cuda: "none" }, { compute: "*xnack+*" }]),
    ...{
      runs: runs / 2,
      perFleet: 20,
      answers: ["amd", "cpu", "nvidia", "none", "broken"],
      least: runs / 200,
    },
  },
};

test.each(Object.entries(drawn))(
  "answers as resolve does on random machines and their fleets, from lock or index: %s",
  {
    ...needs(whyNoDialect(dialects)),
    timeout: timeoutMs,
  },
  async (_kind, drawnOf) => {
    const wrong: string[] = [];
    const seen = new Map<string, number>();
    for await (const each of askedOf(drawnOf, seed, dialects, folder)) {
      const compared = compare(each);
      seen.set(compared.answer, (seen.get(compared.answer) ?? 0) + 1);
      if (compared.wrong !== null) wrong.push(compared.wrong);
      if (wrong.length > 10) break;
    }

    expect(wrong.join("\n"), `seed ${seed}`).toBe("");
    // Machines that nothing fits teach little.
    for (const answer of drawnOf.answers)
      expect(seen.get(answer) ?? 0, answer).toBeGreaterThan(drawnOf.least);
  },
);
