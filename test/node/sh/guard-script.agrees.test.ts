import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import type { HostFacts } from "../../../src/facts/facts.ts";
import { probeHost } from "../../../src/host/probe-host.ts";
import type { Lock, LockedImage } from "../../../src/lock/lock.ts";
import { sidesOf } from "../../../src/lock/requirement.ts";
import { guardScript } from "../../../src/node/sh/guard-script.ts";
import { resolveImage } from "../../../src/resolve/resolve-image.ts";
import { lockOf } from "../../resolve/support/locks.ts";
import { fixtureHostIo } from "../../support/fixture-host-io.ts";
import { remember } from "../../../src/io/collections.ts";
import { rounds } from "../../support/long.ts";
import { needs } from "../../support/needs.ts";
import { type Chance, chanceOf, pick } from "./support/chance.ts";
import { findDialects, whyNoDialect } from "./support/dialects.ts";
import { wholeFleet } from "./support/fleet.ts";
import { fixtureMachine, type Machine, writeMachine } from "./support/machine.ts";
import { machineIo } from "./support/machine-io.ts";
import { randomAmdLock, randomAmdMachine } from "./support/random-amd.ts";
import { randomMachine } from "./support/random-machine.ts";
import { runScripts } from "./support/run-scripts.ts";

const runs = rounds(100, 10_000);
const seed = Number(process.env.IMGMATCH_SH_SEED ?? 20261129);
const folder = mkdtempSync(join(tmpdir(), "imgmatch-guard-random-"));
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const dialects = findDialects(join(folder, "awks"));
const hosts = fileURLToPath(new URL("../../fixtures/hosts", import.meta.url));

interface Asked {
  readonly name: string;
  readonly machine: Machine;
  readonly image: LockedImage;
  readonly facts: () => Promise<HostFacts>;
}

/** A guard that fails lets the program start, and would agree with every rule: its own errors are not hidden here. */
async function guardOf(image: LockedImage): Promise<string> {
  const text = await guardScript({ ...image, repository: "registry.example.com/cv" });
  expect(text).toContain(silence);
  return text.replace(silence, "3>&2");
}

const silence = "3>&2 2>/dev/null";
const texts = new Map<string, Promise<string>>();

/** Starts each image on its machine: the codes of what is refused, and the refusals that the rules do not share. */
async function askGuards(asked: readonly Asked[], chance: Chance) {
  const cases = [];
  for (const [index, { machine, image }] of asked.entries()) {
    const text = await remember(texts, JSON.stringify(image), () => guardOf(image));
    const [root, script] = [join(folder, `m${index}`), join(folder, `m${index}.sh`)];
    writeMachine(root, machine);
    writeFileSync(script, text);
    const unprivileged = machine.denied.length > 0;
    cases.push({ script, root, env: machine.env, smi: null, unprivileged, args: ["echo", "started"] });
  }
  const results = runScripts(folder, pick(chance, dialects), cases);
  const codes = new Map<string, number>();
  const wrong: string[] = [];
  for (const [index, { name, image, facts }] of asked.entries()) {
    const { status, stdout, stderr } = results[index] ?? { status: -1, stdout: "", stderr: "" };
    const isRefused = status === 78 && stdout === "" && /^imgmatch: [A-Z_]+: .+\n$/.test(stderr);
    const { match, rejected } = resolveImage(lockOf({ cell: image }), await facts(), {});
    const isCertain = match === null && rejected.every(({ code }) => code !== "FACT_UNKNOWN");
    const code = isRefused ? (stderr.split(": ")[1] ?? "") : "started";
    const why = rejected.map((each) => `${each.code}: ${each.message}`).join("; ");
    const isStarted = status === 0 && stdout === "started\n" && stderr === "";
    if (!(isStarted || (isRefused && isCertain)))
      wrong.push(`${name}: ${status} ${stdout.trim()} ${stderr.trim()}, rules: ${why || "it fits"}`);
    const known = isStarted && isCertain ? `started, ${rejected[0]?.code}` : code;
    codes.set(known, (codes.get(known) ?? 0) + 1);
  }
  for (const index of asked.keys()) rmSync(join(folder, `m${index}`), { recursive: true });
  return { codes, wrong };
}

/** An image as a cell has it: nothing measured, one variant of each kind. */
function imagesOf({ images }: Lock): readonly LockedImage[] {
  return Object.values(images).flatMap(({ measured: _, ...image }) =>
    sidesOf(image.requires).length > 1 || JSON.stringify(image.requires).includes('"or"') ? [] : [image],
  );
}

test.each([
  ["of NVIDIA", randomMachine, () => wholeFleet((cell) => /x86-64|arrowlake/.test(cell)), 1],
  ["of AMD", randomAmdMachine, randomAmdLock, 0.5],
] as const)(
  "a guard refuses nothing that the rules do not, on random machines: %s",
  { ...needs(whyNoDialect(dialects)), timeout: Math.max(120_000, runs * 360) },
  async (kind, draw, lockBy, share) => {
    const chance = chanceOf(seed);
    const codes = new Map<string, number>();
    for (let round = 0; round < (runs * share) / 50; round++) {
      const images = imagesOf(lockBy(chance));
      const chosen = Array.from({ length: Math.min(4, images.length) }, () => pick(chance, images));
      if (chosen.length === 0) continue;
      const asked = Array.from({ length: 50 }, (_, index) => {
        const { machine, nvml } = draw(chance);
        const facts = () => probeHost(machineIo(machine, nvml));
        return { name: `round ${round}, machine ${index}`, machine, image: pick(chance, chosen), facts };
      });
      const found = await askGuards(asked, chance);
      expect(found.wrong.join("\n"), `seed ${seed}`).toBe("");
      for (const [code, count] of found.codes) codes.set(code, (codes.get(code) ?? 0) + count);
    }
    if (process.env.IMGMATCH_SH_COUNTS) console.log(kind, Object.fromEntries(codes));
    const expected =
      kind === "of AMD"
        ? ["started", "NO_GPU_CODE"]
        : ["started", "CPU_FEATURES_MISSING", "NO_NVIDIA_DRIVER", "DRIVER_TOO_OLD"];
    for (const code of expected) expect(codes.get(code) ?? 0, code).toBeGreaterThan(0);
  },
);

test("a guard refuses nothing that the rules do not, on every captured machine", {
  ...needs(whyNoDialect(dialects)),
  timeout: 300_000,
}, async () => {
  const chance = chanceOf(seed);
  const images = imagesOf(wholeFleet());
  const asked = readdirSync(hosts).flatMap((name) => {
    const machine = fixtureMachine(join(hosts, name));
    const facts = () => probeHost(fixtureHostIo(join(hosts, name)));
    const some = Array.from({ length: rounds(2, 20) }, () => pick(chance, images));
    return machine.platform === "linux" ? some.map((image) => ({ name, machine, image, facts })) : [];
  });
  mkdirSync(folder, { recursive: true });
  const { codes, wrong } = await askGuards(asked, chance);
  expect(wrong.join("\n"), `seed ${seed}`).toBe("");
  expect(codes.get("started") ?? 0).toBeGreaterThan(5);
});
