/** The script beside `resolve`: its answers on random machines, and what is wrong with them. */

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { HostFacts } from "../../../../src/facts/facts.ts";
import { probeHost } from "../../../../src/host/probe-host.ts";
import type { Lock } from "../../../../src/lock/lock.ts";
import { vendorsOf } from "../../../../src/lock/requirement.ts";
import { fleetScript } from "../../../../src/node/sh/fleet-script.ts";
import { resolveImage } from "../../../../src/resolve/resolve-image.ts";
import { isOfHost } from "../../../../src/resolve/verdict.ts";
import { byIndex } from "../../../oci/registry/support/index-of-lock.ts";
import { type Chance, chanceOf, pick } from "./chance.ts";
import type { Dialect } from "./dialects.ts";
import { fakeSmi, writeMachine } from "./machine.ts";
import { machineIo } from "./machine-io.ts";
import type { RandomMachine } from "./random-machine.ts";
import { runScripts, type ScriptResult } from "./run-scripts.ts";

export interface Draws {
  readonly machine: (chance: Chance) => RandomMachine;
  readonly lock: (chance: Chance, round: number) => Lock;
  readonly pins: (chance: Chance) => Readonly<Record<string, string>>;
  readonly runs: number;
  readonly perFleet: number;
}

/** A machine that both were asked on. */
export interface Asked {
  readonly name: string;
  readonly lock: Lock;
  readonly options: {
    readonly cpuOnly: boolean;
    readonly pins: Readonly<Record<string, string>>;
  };
  readonly facts: HostFacts;
  readonly script: ScriptResult;
}

/** `folder` takes machines and scripts, for a round at a time. */
export async function* askedOf(
  { machine, lock: drawLock, pins: drawPins, runs, perFleet }: Draws,
  seed: number,
  dialects: readonly Dialect[],
  folder: string,
): AsyncGenerator<Asked> {
  const chance = chanceOf(seed);
  for (let round = 0; round * perFleet < runs; round++) {
    const lock = drawLock(chance, round);
    if (Object.keys(lock.images).length === 0) continue;
    const cpuOnly = chance() < 0.1;
    const wish = chance() < 0.15 ? drawPins(chance) : {};
    const hasAxis = (axis: string) => Object.values(lock.images).some(({ axes }) => axis in axes);
    const options = { cpuOnly, pins: Object.keys(wish).every(hasAxis) ? wish : {} };
    const place = join(folder, `round ${round}`);
    const smi = join(place, "bin");
    mkdirSync(smi, { recursive: true });
    writeFileSync(join(smi, "nvidia-smi"), fakeSmi, { mode: 0o755 });
    const script = join(place, "fleet.sh");
    const source = round % 2 === 0 ? lock : byIndex(lock);
    writeFileSync(script, (await fleetScript(source, { version: "1.0.0", ...options, smiSeconds: 20 })).text);
    const machines = Array.from({ length: perFleet }, () => machine(chance));
    for (const [index, { machine }] of machines.entries()) writeMachine(join(place, `m${index}`), machine);
    const results = runScripts(
      place,
      pick(chance, dialects),
      machines.map(({ machine }, index) => ({
        script,
        root: join(place, `m${index}`),
        env: machine.env,
        smi: machine.smi === null ? null : smi,
        unprivileged: machine.denied.length > 0,
      })),
    );
    for (const [index, { machine, nvml }] of machines.entries()) {
      const facts = await probeHost(machineIo(machine, nvml));
      const script = results[index] ?? { status: -1, stdout: "", stderr: "" };
      yield { name: `round ${round}, machine ${index}`, lock, options, facts, script };
    }
    rmSync(place, { recursive: true });
  }
}

/** What `resolve` answers, and what is wrong with the script's answer, if anything is. */
export function compare({ name, lock, options, facts, script: { status, stdout, stderr } }: Asked) {
  const { match, rejected } = resolveImage(lock, facts, options);
  const states = rejected.map(({ code }) => code).filter(isOfHost);
  const want = match !== null ? `0 ${match.reference}` : states.length > 0 ? "4 " : "3 ";
  const got = `${status} ${stdout.trim()}`;
  const chosen = match === null ? undefined : lock.images[match.cell];
  const answer =
    chosen !== undefined ? (vendorsOf(chosen.requires)[0] ?? "cpu") : states.length > 0 ? "broken" : "none";
  // A script refuses by name the facts that it does not see.
  const isRefused = status === 4 && stderr.includes("container toolkit of this host");
  // Without code for a card it does not matter which libcuda the container toolkit loads: the script says so first.
  const doubts = rejected.filter(({ code }) => isOfHost(code));
  const isCertain =
    got === "3 " &&
    stderr.includes("NO_GPU_CODE") &&
    doubts.every(({ message }) => message.includes("this host's container toolkit"));
  const isNamed = want !== "4 " || states.some((code) => stderr.includes(code));
  const isWrong = (got !== want || !isNamed) && !isRefused && !(want === "4 " && isCertain);
  return { answer, wrong: isWrong ? `${name}: ${want}, not ${got}: ${stderr.trim()}` : null };
}
