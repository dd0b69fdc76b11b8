/**
 * Compares what is measured in programs with what they do. Each is compiled for a march that a compiler here knows. It stays within the
 * declared features, runs on an emulated CPU without the features that were not found in it, and ends on one without those that were.
 * Needs gcc for x86-64 and for AArch64, qemu-x86_64 and qemu-aarch64 (Debian: gcc, g++, gcc-aarch64-linux-gnu, qemu-user).
 */

import { execFile, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import pLimit from "p-limit";
import { beforeAll, describe, expect, it } from "vitest";
import { neverNeededFeatures, withoutX86Feature, x86Baseline } from "../../src/hardware/cpu-features.ts";
import { compilerFlags, findMarch, type March, marchNames } from "../../src/hardware/cpu-marches.ts";
import { memorySource } from "../../src/inspect/byte-source.ts";
import { inspectFile } from "../../src/inspect/inspect-file.ts";
import { makeFolder } from "../support/folders.ts";
import { isLong, rounds } from "../support/long.ts";
import { needs } from "../support/needs.ts";
import {
  armInstructions,
  armLargeProgram,
  armProgramFor,
  hwcapProgram,
  readHwcaps,
} from "./support/arm-programs.ts";
import { instructions, programFor } from "./support/instructions.ts";
import { largeProgram } from "./support/large-program.ts";
import { whyNoCompiler, whyNoEmulator, whyNoGcc } from "../support/programs.ts";

const run = promisify(execFile);
const limit = pLimit(Math.max(2, cpus().length));
const demo = fileURLToPath(new URL("../../templates/sgemm/sgemm.cpp", import.meta.url));

/** Programs that use each feature are for every second march, larger ones for every sixth; both are for all with IMGMATCH_LONG. */
const every = (second: 2 | 6) => (_: March, index: number) => isLong || index % second === 0;

interface Measured {
  readonly name: string;
  readonly file: string;
  readonly march: March;
  /** With instructions in it that are no data. */
  readonly features: readonly string[];
  /** Those that may be there too: TZCNT, which other CPUs execute as BSF, may be relied on. */
  readonly possible: readonly string[];
  readonly unknown: number;
}

async function measure(name: string, file: string, march: March): Promise<Measured> {
  const found = await inspectFile(memorySource(readFileSync(file)), false);
  if (found?.cpu == null) throw new Error(`${file} holds no code that is read`);
  const features = Object.entries(found.cpu.features).flatMap(([feature, { instructions }]) =>
    instructions > 0 ? [feature] : [],
  );
  return {
    name,
    file,
    march,
    features,
    possible: Object.keys(found.cpu.features),
    unknown: found.cpu.unknownInstructions,
  };
}

/** Of these marches those that the compiler accepts. */
async function accepted(compiler: string, architecture: March["architecture"]): Promise<readonly March[]> {
  const marches = marchNames()
    .flatMap((name) => findMarch(name) ?? [])
    .filter((march) => march.architecture === architecture);
  const ok = await Promise.all(
    marches.map((march) =>
      limit(() =>
        run(compiler, [...compilerFlags(march), "-E", "-x", "c", "/dev/null"]).then(
          () => true,
          () => false,
        ),
      ),
    ),
  );
  return marches.filter((_, index) => ok[index]);
}

const beyond = ({ features, march }: Measured) => {
  const declared = new Set([...march.required, ...march.optional]);
  return features.filter((feature) => !declared.has(feature));
};

const title = ({ name, march }: Measured) => `${name} for ${march.name}`;

/** Nothing is found in a program that its march does not declare, and no instruction is unknown. */
function expectWithin(programs: readonly Measured[]): void {
  const wrong = programs
    .map((program) => [title(program), beyond(program)] as const)
    .filter(([, features]) => features.length > 0);
  expect(wrong).toEqual([]);
  expect(programs.filter(({ unknown }) => unknown > 0).map(title)).toEqual([]);
}
/** The exit code, or null for a program that an illegal instruction, or what it was taken for, ended. */
async function exitOn(
  emulator: string,
  cpu: string,
  file: string,
  args: readonly string[] = [],
): Promise<number | null> {
  return limit(async () => {
    try {
      await run(emulator, ["-cpu", cpu, file, ...args], { timeout: 120_000 });
      return 0;
    } catch (error) {
      const { code, signal } = error as { code?: number; signal?: string };
      if (signal === "SIGILL" || signal === "SIGSEGV" || code === 132 || code === 139) return null;
      if (typeof code === "number") return code;
      throw error;
    }
  });
}

const whyNoX86 = process.arch === "x64" ? (whyNoGcc() ?? whyNoEmulator("x86_64")) : "no x86-64 CPU";

describe("x86-64", needs(whyNoX86), () => {
  const programs: Measured[] = [];
  const without: { program: Measured; feature: string; code: number | null }[] = [];
  const dropped: { program: Measured; flags: string; code: number | null; expected: number }[] = [];
  /** Features that this emulator refuses where they are off. */
  const enforced = new Set<string>();
  const wants = spawnSync("qemu-x86_64", ["-cpu", "help"], { encoding: "utf8" }).stdout ?? "";
  const flags = new Set(wants.slice(wants.indexOf("CPUID flags")).split(/\s+/));
  /** The emulator's name of a feature, or null where it has none. */
  const flagOf = (feature: string) =>
    [feature, feature.replaceAll("_", "-"), feature.replaceAll("_", "."), feature.replaceAll("_", "")].find(
      (name) => flags.has(name),
    ) ?? null;

  beforeAll(async () => {
    const folder = makeFolder({});
    const compile = async (
      name: string,
      language: "c" | "c++",
      source: string,
      options: readonly string[],
    ) => {
      const file = join(folder, name);
      const input = language === "c" ? `${file}.c` : source;
      if (language === "c") writeFileSync(input, source);
      await limit(() => run(language === "c" ? "gcc" : "g++", [...options, "-o", file, input]));
      return file;
    };
    const hasCxx = whyNoCompiler("g++", "apt-get install g++") === null;
    const large = `${largeProgram()}int main(void) { return work(); }\n`;
    const marches = await accepted("gcc", "amd64");
    const flagsFor = (march: March) => ["-O3", "-fno-math-errno", ...compilerFlags(march)];
    const uses = marches.filter(every(2)).map(async (march) => {
      const used = march.features.filter((feature) => instructions[feature] !== undefined);
      const file = await compile(`uses-${march.name}`, "c", programFor(used), flagsFor(march));
      return measure("uses", file, march);
    });
    const larger = marches
      .filter(every(6))
      .flatMap((march) => [
        compile(`large-${march.name}`, "c", large, flagsFor(march)).then((file) =>
          measure("large", file, march),
        ),
        ...(hasCxx
          ? [
              compile(`demo-${march.name}`, "c++", demo, ["-std=c++17", ...flagsFor(march)]).then((file) =>
                measure("demo", file, march),
              ),
            ]
          : []),
      ]);
    for (const each of await Promise.all([...uses, ...larger])) programs.push(each);
    await Promise.all(
      Object.keys(instructions).map(async (feature) => {
        const flag = flagOf(feature);
        const file = await compile(`only-${feature}`, "c", programFor([feature]), ["-O1"]);
        if (
          flag !== null &&
          (await exitOn("qemu-x86_64", "max", file)) === 0 &&
          (await exitOn("qemu-x86_64", `max,-${flag}`, file)) !== 0
        )
          enforced.add(feature);
      }),
    );
    await Promise.all(programs.map((program) => runWithout(program)));
  }, 900_000);

  /** A CPU without one feature is tried with six of the programs that use it, and with all with IMGMATCH_LONG. */
  const tries = new Map<string, number>();
  function isTried(feature: string): boolean {
    const before = tries.get(feature) ?? 0;
    tries.set(feature, before + 1);
    return before < rounds(6, Infinity);
  }

  async function runWithout(program: Measured): Promise<void> {
    const args = program.name === "demo" ? ["--size", "64", "--seconds", "0.01"] : [];
    const expected = await exitOn("qemu-x86_64", "max", program.file, args);
    // It has what the emulator knows nothing of: AVX-512.
    if (expected === null) return;
    const off = program.march.features.filter(
      (feature) =>
        !program.possible.includes(feature) &&
        !x86Baseline.has(feature) &&
        // Features that are built on it go with it, on real CPUs and on this one: no CPU has AVX without SSE4.2 and XSAVE.
        !withoutX86Feature(feature).some((each) => program.features.includes(each)) &&
        !(feature === "xsave" && program.features.includes("avx")),
    );
    // The C library chooses code for AVX2 that has BMI1 in it: no CPU has the one without the other.
    if (off.includes("bmi1"))
      off.push(...["avx2", "bmi2"].filter((each) => !off.includes(each) && !program.possible.includes(each)));
    const masked = off
      .flatMap((feature) => flagOf(feature) ?? [])
      .map((flag) => `,-${flag}`)
      .join("");
    dropped.push({
      program,
      flags: masked,
      code: await exitOn("qemu-x86_64", `max${masked}`, program.file, args),
      expected,
    });
    for (const feature of program.features.filter((each) => enforced.has(each) && isTried(each)))
      without.push({
        program,
        feature,
        code: await exitOn("qemu-x86_64", `max,-${flagOf(feature)}`, program.file, args),
      });
  }

  it("what is measured is within what is declared", () => expectWithin(programs));

  it("every feature that a program uses is found", () => {
    for (const { march, features, name } of programs.filter((each) => each.name === "uses")) {
      // PREFETCHW is harmless on a CPU without it, and no need of a program.
      const used = march.features.filter(
        (feature) => instructions[feature] !== undefined && feature !== "3dnowprefetch",
      );
      expect(features, `${name} ${march.name}`).toEqual(expect.arrayContaining(used));
    }
  });

  it("a program runs on a CPU that lacks all that was not found in it", () => {
    expect(
      dropped
        .filter(({ code, expected }) => code !== expected)
        .map(({ program, flags: off }) => `${title(program)}${off}`),
    ).toEqual([]);
  });

  it("a program ends on a CPU that lacks one feature that was found in it", () => {
    const alive = without.filter(
      ({ program, code }) => code === dropped.find((each) => each.program === program)?.expected,
    );
    const names = alive.map(({ program, feature }) => `${title(program)} without ${feature}`);
    expect(names.filter((name) => name.startsWith("uses"))).toEqual([]);
    // A loop's code for the rest of an array may never run.
    if (names.length > 0) console.info(`never came to it: ${names.join(", ")}`);
    expect(names.length).toBeLessThanOrEqual(without.length / 50);
  });

  it("enough was tried to mean something", () => {
    const off = dropped.reduce((sum, { flags: each }) => sum + each.split(",").length - 1, 0);
    console.info(
      `${programs.length} programs, ${dropped.length} of which the emulator runs: with ${off} features off that are not in them they ran, with one of ${without.length} off that is they ended; it refuses ${[...enforced].sort().join(" ")}`,
    );
    expect(programs.length).toBeGreaterThan(rounds(25, 40));
    expect(dropped.length).toBeGreaterThan(rounds(10, 20));
    expect(off).toBeGreaterThan(rounds(20, 80));
    expect(without.length).toBeGreaterThan(rounds(40, 100));
  });
});

const cross = "aarch64-linux-gnu-gcc";
const whyNoArm = whyNoCompiler(cross, "apt-get install gcc-aarch64-linux-gnu") ?? whyNoEmulator("aarch64");

describe("AArch64", needs(whyNoArm), () => {
  const programs: Measured[] = [];
  const machines: { cpu: string; has: ReadonlySet<string> }[] = [];
  const cases: { program: Measured; cpu: string; lacking: readonly string[]; code: number | null }[] = [];
  const codes = { large: 0, uses: 7 } as Record<string, number>;

  beforeAll(async () => {
    const folder = makeFolder({});
    const compile = async (name: string, source: string, options: readonly string[]) => {
      const file = join(folder, name);
      writeFileSync(`${file}.c`, source);
      await limit(() =>
        run(cross, [
          "-O3",
          "-ffreestanding",
          "-fno-math-errno",
          "-fno-tree-loop-distribute-patterns",
          "-nostdlib",
          "-mno-outline-atomics",
          "-static",
          ...options,
          "-o",
          file,
          `${file}.c`,
          "-lgcc",
        ]),
      );
      return file;
    };
    const known = spawnSync("qemu-aarch64", ["-cpu", "help"], { encoding: "utf8" }).stdout.split(/\s+/);
    const probe = await compile("hwcaps", hwcapProgram, []);
    for (const cpu of [
      "cortex-a53",
      "cortex-a57",
      "cortex-a76",
      "neoverse-n1",
      "a64fx",
      "max",
      "max,sve=off",
      "max,pauth=off",
    ]) {
      if (!known.includes(cpu.split(",")[0] ?? "")) continue;
      const told = readHwcaps((await run("qemu-aarch64", ["-cpu", cpu, probe])).stdout);
      // It executes DIT there and does not tell.
      machines.push({ cpu, has: cpu.startsWith("max") ? new Set([...told, "dit"]) : told });
    }
    const marches = await accepted(cross, "arm64");
    const uses = marches.map(async (march) => {
      const used = march.features.filter((feature) => armInstructions[feature] !== undefined);
      const file = await compile(`uses-${march.name}`, armProgramFor(used), compilerFlags(march));
      return measure("uses", file, march);
    });
    const larger = marches
      .filter(every(6))
      .map(async (march) =>
        measure(
          "large",
          await compile(`large-${march.name}`, armLargeProgram(), compilerFlags(march)),
          march,
        ),
      );
    programs.push(...(await Promise.all([...uses, ...larger])));
    await Promise.all(
      programs.flatMap((program) =>
        machines.map(async ({ cpu, has }) => {
          const lacking = program.features.filter((feature) => !has.has(feature));
          cases.push({ program, cpu, lacking, code: await exitOn("qemu-aarch64", cpu, program.file) });
        }),
      ),
    );
  }, 600_000);

  it("what is measured is within what is declared", () => expectWithin(programs));

  it("every feature that a program uses is found", () => {
    for (const { march, features } of programs.filter((each) => each.name === "uses"))
      expect(features, march.name).toEqual(
        expect.arrayContaining(march.features.filter((feature) => armInstructions[feature] !== undefined)),
      );
  });

  it("a program runs on every CPU that has what was found in it", () => {
    const died = cases.filter(({ lacking, code }) => lacking.length === 0 && (code === null || code === 0));
    expect(died.map(({ program, cpu }) => `${title(program)} on ${cpu}`)).toEqual([]);
    // And computes the same there.
    for (const program of programs) {
      const ran = cases.filter((each) => each.program === program && each.code !== null);
      expect(new Set(ran.map(({ code }) => code)).size, title(program)).toBeLessThanOrEqual(1);
    }
    expect(codes.uses).toBe(7);
  });

  it("a program ends on a CPU that lacks one feature that was found in it", () => {
    const alive = cases.filter(({ lacking, code }) => lacking.length > 0 && code !== null);
    expect(
      alive.map(({ program, cpu, lacking }) => `${title(program)} on ${cpu} without ${lacking.join(" ")}`),
    ).toEqual([]);
  });

  it("enough was tried to mean something", () => {
    const fits = cases.filter(({ lacking }) => lacking.length === 0);
    const less = fits.filter(({ program, cpu }) => {
      const has = machines.find((each) => each.cpu === cpu)?.has;
      return program.march.features.some(
        (feature) => !neverNeededFeatures.has(feature) && has?.has(feature) === false,
      );
    });
    console.info(
      `${programs.length} programs on ${machines.length} CPUs: ${fits.length} ran, ${less.length} of them on a CPU that lacks something declared; ${cases.length - fits.length} ended`,
    );
    expect(less.length).toBeGreaterThan(3);
    expect(cases.length - fits.length).toBeGreaterThan(20);
  });
});
