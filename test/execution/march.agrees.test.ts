/**
 * The truth by execution: programs compiled for each march run, or end with an illegal instruction, on emulated CPUs as the
 * verdict says. Needs gcc for x86-64 and qemu-x86_64 (Debian: gcc, qemu-user).
 */

import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  compilerFlags,
  findMarch,
  type March,
  marchFeatures,
  marchNames,
} from "../../src/hardware/cpu-marches.ts";
import type { HostFacts } from "../../src/facts/facts.ts";
import { checkFit } from "../../src/resolve/check-fit.ts";
import { image } from "../resolve/support/locks.ts";
import { compile, limit, type Machine, readMachines } from "./support/emulated-machines.ts";
import { instructions, programFor } from "./support/instructions.ts";
import { isLong, rounds } from "../support/long.ts";
import { needs } from "../support/needs.ts";
import { whyNoEmulator, whyNoGcc } from "../support/programs.ts";

const run = promisify(execFile);

/** Names as `qemu-x86_64 -cpu help` lists them; a comma masks single features, as hypervisors do. */
const models = [
  "qemu64",
  "Conroe",
  "Nehalem",
  "Nehalem,-popcnt",
  "Westmere",
  "SandyBridge",
  "IvyBridge",
  "Haswell",
  "Haswell,-movbe",
  "Haswell,-bmi2",
  "Haswell,-avx2",
  "Broadwell",
  "Skylake-Client",
  "Skylake-Server",
  "Icelake-Server",
  "Opteron_G5",
  "EPYC",
  "EPYC,-sse4a",
  "EPYC-Milan",
  "max",
  "max,-fma",
  "max,-aes",
  "max,-abm",
];

interface Program {
  readonly name: string;
  readonly file: string;
  readonly features: readonly string[];
}

const missing = missingTools();

/** Each program meets a third of the CPUs, the next program another third: all of them with IMGMATCH_LONG. */
const isMet = (first: number) => (_: unknown, index: number) => isLong || (index + first) % 3 === 0;

describe("marches", needs(missing), () => {
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-march-"));
  const cases: { program: Program; machine: Machine; ok: boolean; ran: boolean }[] = [];
  /** Features that this emulator refuses on CPUs without them: what it runs anyway can prove nothing. */
  const enforced = new Set<string>();

  beforeAll(async () => {
    const [programs, machines] = await Promise.all([compileMarches(folder), readMachines(folder, models)]);
    const single = await compileSingles(folder);
    await Promise.all(
      single.map(async ({ name, file }) => {
        const without = machines.filter(({ facts }) => !facts.cpu.features?.includes(name));
        const ran = await Promise.all(without.map(({ model }) => runs(file, model)));
        if (ran.length > 0 && ran.every((each) => !each)) enforced.add(name);
      }),
    );
    await Promise.all(
      programs.flatMap((program, first) =>
        machines.filter(isMet(first)).map(async (machine) => {
          const ok = verdict(program, machine.facts);
          cases.push({ program, machine, ok, ran: await runs(program.file, machine.model) });
        }),
      ),
    );
  }, 300_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

  it("an image that fits runs", () => {
    const wrong = cases.filter(({ ok, ran }) => ok && !ran);
    expect(wrong.map(({ program, machine }) => `${program.name} on ${machine.model}`)).toEqual([]);
  });

  it("an image that does not fit ends with an illegal instruction", () => {
    const wrong = cases.filter(
      ({ program, machine, ok, ran }) =>
        !ok && ran && lacking(program, machine).some((feature) => enforced.has(feature)),
    );
    expect(wrong.map(({ program, machine }) => `${program.name} on ${machine.model}`)).toEqual([]);
  });

  it("enough was tried to mean something", () => {
    const yes = cases.filter(({ ok }) => ok).length;
    const refused = cases.filter(({ ok, ran }) => !ok && !ran).length;
    const marches = new Set(cases.map(({ program }) => program.name)).size;
    console.info(
      `${marches} programs on ${new Set(cases.map(({ machine }) => machine.model)).size} CPUs: ${yes} fit and ran, ${refused} do not fit and were refused, ${cases.length - yes - refused} do not fit and ran, as this emulator runs instructions that the CPU lacks; it refuses ${[...enforced].sort().join(" ")}`,
    );
    expect(marches).toBeGreaterThan(20);
    expect(yes).toBeGreaterThan(rounds(50, 80));
    expect(refused).toBeGreaterThan(rounds(160, 200));
    for (const feature of ["ssse3", "sse4_2", "popcnt", "avx", "avx2", "fma", "bmi2", "movbe", "avx512f"]) {
      expect(enforced, `the emulator enforces ${feature}`).toContain(feature);
    }
  });
});

function missingTools(): string | null {
  const missing = whyNoGcc() ?? whyNoEmulator("x86_64");
  if (missing !== null) return missing;
  const target = execFileSync("gcc", ["-dumpmachine"], { encoding: "utf8" });
  if (!target.startsWith("x86_64")) return `gcc is for ${target.trim()}, not x86-64`;
  return null;
}

async function compileMarches(folder: string): Promise<readonly Program[]> {
  const marches = marchNames()
    .flatMap((name) => findMarch(name) ?? [])
    .filter(({ architecture }) => architecture === "amd64");
  const wanted: [March, readonly string[]][] = [
    ...marches.map((march): [March, readonly string[]] => [march, []]),
    // A feature that is left out is neither required nor emitted.
    ...without("haswell", "fma"),
    ...without("haswell", "movbe"),
    ...without("skylake", "avx2"),
    ...without("skylake-avx512", "avx512f"),
    ...without("znver3", "sse4a"),
    ...without("x86-64-v2", "popcnt"),
  ];
  const compiled = await Promise.all(
    wanted.map(async ([march, removed]) => {
      const name = [march.name, ...removed].join("-without-");
      const features = marchFeatures(march, removed);
      const flags = compilerFlags(march, removed);
      if (!(await accepts(flags))) return null;
      return { name, features, file: await compile(folder, name, programFor(features), ["-O3", ...flags]) };
    }),
  );
  return compiled.filter((program) => program !== null);
}

function without(name: string, feature: string): [March, readonly string[]][] {
  const march = findMarch(name);
  return march === null ? [] : [[march, [feature]]];
}

/** A gcc older than the march does not know it. */
async function accepts(flags: readonly string[]): Promise<boolean> {
  return limit(() =>
    run("gcc", [...flags, "-E", "-x", "c", "/dev/null"]).then(
      () => true,
      () => false,
    ),
  );
}

async function compileSingles(folder: string): Promise<readonly Program[]> {
  return Promise.all(
    Object.keys(instructions).map(async (feature) => ({
      name: feature,
      features: [feature],
      file: await compile(folder, `only-${feature}`, programFor([feature]), ["-O1"]),
    })),
  );
}

function verdict({ name, features }: Program, facts: HostFacts): boolean {
  return checkFit(image({ requires: { cpu: { march: name, features }, cuda: null } }), facts).ok;
}

function lacking({ features }: Program, { facts }: Machine): readonly string[] {
  return features.filter((feature) => !facts.cpu.features?.includes(feature));
}

/**
 * False for an illegal instruction, and for code that a CPU without its feature takes for other code: lzcnt for bsr, which gives
 * another result (exit 3), and XOP and TBM for pop. Anything else is a fault of the test.
 */
async function runs(file: string, model: string): Promise<boolean> {
  return limit(async () => {
    try {
      await run("qemu-x86_64", ["-cpu", model, file], { timeout: 60_000 });
      return true;
    } catch (error) {
      const { code, signal, stderr } = error as { code?: number; signal?: string; stderr?: string };
      // qemu raises the guest's signal on itself; a shell would say 128 + 4.
      if (signal === "SIGILL" || signal === "SIGSEGV" || code === 132 || code === 139 || code === 3)
        return false;
      throw new Error(`${file} on ${model}: exit ${code ?? signal}: ${stderr}`, { cause: error });
    }
  });
}
