import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { probeHost } from "../../../src/host/probe-host.ts";
import type { Lock, LockedImage } from "../../../src/lock/lock.ts";
import { fleetScript } from "../../../src/node/sh/fleet-script.ts";
import { resolveImage } from "../../../src/resolve/resolve-image.ts";
import { vendorsOf } from "../../../src/lock/requirement.ts";
import { isOfHost } from "../../../src/resolve/verdict.ts";
import { anyLock } from "../../properties/support/machines.ts";
import { byIndex } from "../../oci/registry/support/index-of-lock.ts";
import { rounds } from "../../support/long.ts";
import { needs } from "../../support/needs.ts";
import { findDialects, whyNoDialect } from "./support/dialects.ts";
import { wholeFleet } from "./support/fleet.ts";
import { fakeSmi, writeMachine } from "./support/machine.ts";
import { machineIo } from "./support/machine-io.ts";
import { randomAmdLock, randomAmdMachine } from "./support/random-amd.ts";
import { type Chance, chanceOf, pick, type RandomMachine, randomMachine } from "./support/random-machine.ts";
import { runScripts } from "./support/run-scripts.ts";

/** So many machines, and half as many with GPUs of AMD; IMGMATCH_LONG=1 takes a quarter of an hour. */
const runs = rounds(100, 10_000);
const seed = Number(process.env.IMGMATCH_SH_SEED ?? 20261121);
/** Slow shells take their part of a second for each machine. */
const timeoutMs = Math.max(120_000, runs * 360);

const folder = mkdtempSync(join(tmpdir(), "imgmatch-sh-random-"));
chmodSync(folder, 0o755);
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

interface Drawn {
  readonly machine: (chance: Chance) => RandomMachine;
  readonly lock: (chance: Chance, round: number) => Lock;
  readonly pins: (chance: Chance) => Readonly<Record<string, string>>;
  readonly runs: number;
  readonly perFleet: number;
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
  async (kind, drawnOf) => {
    const { runs, perFleet, answers, least } = drawnOf;
    const chance = chanceOf(seed);
    const wrong: string[] = [];
    const seen = new Map<string, number>();
    for (let round = 0; round * perFleet < runs; round++) {
      const lock = drawnOf.lock(chance, round);
      if (Object.keys(lock.images).length === 0) continue;
      const cpuOnly = chance() < 0.1;
      const wish = chance() < 0.15 ? drawnOf.pins(chance) : {};
      const hasAxis = (axis: string) => Object.values(lock.images).some(({ axes }) => axis in axes);
      const pins = Object.keys(wish).every(hasAxis) ? wish : {};
      const place = join(folder, `${kind} ${round}`);
      mkdirSync(place);
      const script = join(place, "fleet.sh");
      const source = round % 2 === 0 ? lock : byIndex(lock);
      writeFileSync(
        script,
        (await fleetScript(source, { version: "1.0.0", cpuOnly, pins, smiSeconds: 20 })).text,
      );
      const machines = Array.from({ length: perFleet }, () => drawnOf.machine(chance));
      for (const [index, { machine }] of machines.entries()) writeMachine(join(place, `m${index}`), machine);
      const results = runScripts(
        place,
        pick(chance, dialects),
        machines.map(({ machine: { env, smi, denied } }, index) => ({
          script,
          root: join(place, `m${index}`),
          env,
          smi: smi === null ? null : bin,
          unprivileged: denied.length > 0,
        })),
      );
      for (const [index, { machine, nvml }] of machines.entries()) {
        const facts = await probeHost(machineIo(machine, nvml));
        const { match, rejected } = resolveImage(lock, facts, { cpuOnly, pins });
        const states = rejected.map(({ code }) => code).filter(isOfHost);
        const want = match !== null ? `0 ${match.reference}` : states.length > 0 ? "4 " : "3 ";
        const { status = -1, stdout = "", stderr = "" } = results[index] ?? {};
        const got = `${status} ${stdout.trim()}`;
        const chosen = match === null ? undefined : lock.images[match.cell];
        const answer =
          chosen !== undefined
            ? (vendorsOf(chosen.requires)[0] ?? "cpu")
            : states.length > 0
              ? "broken"
              : "none";
        seen.set(answer, (seen.get(answer) ?? 0) + 1);
        // A script refuses by name the facts that it does not see.
        const isRefused = status === 4 && stderr.includes("container toolkit of this host");
        // Without code for a card it does not matter which libcuda the container toolkit loads: the script says so first.
        const doubts = rejected.filter(({ code }) => isOfHost(code));
        const isCertain =
          got === "3 " &&
          stderr.includes("NO_GPU_CODE") &&
          doubts.every(({ message }) => message.includes("this host's container toolkit"));
        const isNamed = want !== "4 " || states.some((code) => stderr.includes(code));
        if ((got !== want || !isNamed) && !isRefused && !(want === "4 " && isCertain))
          wrong.push(`round ${round}, machine ${index}: ${want}, not ${got}: ${stderr.trim()}`);
      }
      if (wrong.length > 10) break;
      rmSync(place, { recursive: true });
    }

    expect(wrong.join("\n"), `seed ${seed}`).toBe("");
    // Machines that nothing fits teach little.
    for (const answer of answers) expect(seen.get(answer) ?? 0, answer).toBeGreaterThan(least);
  },
);
