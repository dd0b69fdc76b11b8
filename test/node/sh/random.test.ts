import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { probeHost } from "../../../src/host/probe-host.ts";
import type { Lock, LockedImage } from "../../../src/lock/lock.ts";
import { fleetScript } from "../../../src/node/sh/fleet-script.ts";
import { resolveImage } from "../../../src/resolve/resolve-image.ts";
import { isOfHost } from "../../../src/resolve/verdict.ts";
import { anyLock } from "../../properties/support/machines.ts";
import { byIndex } from "../../oci/registry/support/index-of-lock.ts";
import { needs } from "../../support/needs.ts";
import { findDialects, whyNoDialect } from "./support/dialects.ts";
import { wholeFleet } from "./support/fleet.ts";
import { fakeSmi, writeMachine } from "./support/machine.ts";
import { machineIo } from "./support/machine-io.ts";
import { type Chance, chanceOf, pick, randomMachine } from "./support/random-machine.ts";
import { runScripts } from "./support/run-scripts.ts";

/** So many machines; IMGMATCH_LONG=1 takes a quarter of an hour. */
const runs = process.env.IMGMATCH_LONG ? 10_000 : 400;
const seed = Number(process.env.IMGMATCH_SH_SEED ?? 20261121);
const perFleet = 40;
/** Slow shells take their part of a second for each machine. */
const timeoutMs = Math.max(120_000, runs * 360);

const folder = mkdtempSync(join(tmpdir(), "imgmatch-sh-random-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const bin = join(folder, "bin");
mkdirSync(bin);
writeFileSync(join(bin, "nvidia-smi"), fakeSmi, { mode: 0o755 });
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

test(`answers as resolve does on ${runs} random machines and their fleets, from lock or index`, {
  ...needs(whyNoDialect(dialects)),
  timeout: timeoutMs,
}, async () => {
  const chance = chanceOf(seed);
  const wrong: string[] = [];
  const seen = { image: 0, gpuImage: 0, none: 0, broken: 0 };
  for (let round = 0; round * perFleet < runs; round++) {
    const lock = randomLock(chance, round);
    if (Object.keys(lock.images).length === 0) continue;
    const cpuOnly = chance() < 0.1;
    const pins = chance() < 0.15 ? { cuda: "none" } : {};
    const place = join(folder, `${round}`);
    mkdirSync(place);
    const script = join(place, "fleet.sh");
    const source = round % 2 === 0 ? lock : byIndex(lock);
    writeFileSync(
      script,
      (await fleetScript(source, { version: "1.0.0", cpuOnly, pins, smiSeconds: 20 })).text,
    );
    const machines = Array.from({ length: perFleet }, () => randomMachine(chance));
    for (const [index, { machine }] of machines.entries()) writeMachine(join(place, `m${index}`), machine);
    const results = runScripts(
      place,
      pick(chance, dialects),
      machines.map(({ machine: { env, smi } }, index) => ({
        script,
        root: join(place, `m${index}`),
        env,
        smi: smi === null ? null : bin,
      })),
    );
    for (const [index, { machine, nvml }] of machines.entries()) {
      const facts = await probeHost(machineIo(machine, nvml));
      const { match, rejected } = resolveImage(lock, facts, { cpuOnly, pins });
      const broken = rejected.some(({ code }) => isOfHost(code));
      const want = match !== null ? `0 ${match.reference}` : broken ? "4 " : "3 ";
      const { status = -1, stdout = "", stderr = "" } = results[index] ?? {};
      const got = `${status} ${stdout.trim()}`;
      if (match === null) seen[broken ? "broken" : "none"]++;
      else seen[lock.images[match.cell]?.requires.cuda === null ? "image" : "gpuImage"]++;
      // What a script does not see it refuses by name.
      const isRefused =
        status === 4 && /container toolkit of this host|this host has an AMD GPU or its driver/.test(stderr);
      if (got !== want && !isRefused)
        wrong.push(`round ${round}, machine ${index}: ${want}, not ${got}: ${stderr.trim()}`);
    }
    if (wrong.length > 10) break;
    rmSync(place, { recursive: true });
  }
  expect(wrong.join("\n"), `seed ${seed}`).toBe("");
  // Machines that nothing fits teach little.
  for (const [kind, count] of Object.entries(seen)) expect(count, kind).toBeGreaterThan(runs / 50);
});
