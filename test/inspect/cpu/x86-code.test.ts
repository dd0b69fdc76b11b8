import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { findMarch, marchFeatures } from "../../../src/hardware/cpu-marches.ts";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { readDispatchSigns } from "../../../src/inspect/cpu/dispatch.ts";
import { readFunctionRanges } from "../../../src/inspect/cpu/function-ranges.ts";
import { codeRegions } from "../../../src/inspect/cpu/regions.ts";
import { readX86Code } from "../../../src/inspect/cpu/x86-code.ts";
import { codeSegments, readElf } from "../../../src/inspect/elf/elf.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { whyNoGcc } from "../../support/programs.ts";

const whyNot = process.arch === "x64" ? whyNoGcc() : "no x86-64 CPU";

const loop = `#include <stddef.h>
void fma3(float *restrict a, const float *b, const float *c, size_t n) {
  for (size_t i = 0; i < n; i++) a[i] += b[i] * c[i];
}
unsigned bits(unsigned long x) { return __builtin_popcountl(x) + __builtin_ctzl(x | 1); }
`;

function compile(source: string, options: readonly string[]): Buffer {
  const cwd = makeFolder({ "a.c": source });
  execFileSync("gcc", ["-O3", "-shared", "-fPIC", "a.c", "-o", "a.so", ...options], { cwd });
  return readFileSync(join(cwd, "a.so"));
}

async function codeOf(bytes: Buffer) {
  const source = memorySource(bytes);
  const elf = readElf(source);
  if (elf === null) throw new Error("no ELF file");
  return {
    ...(await readX86Code(source, codeRegions(elf, readFunctionRanges(source, elf)), 64, codeSegments(elf)))
      .code,
    ...readDispatchSigns(source, elf),
  };
}

describe("code by gcc", needs(whyNot), () => {
  it.each([
    [".constants", { avx2: { instructions: 0, doubtful: 128 } }],
    [".cask_resource", {}],
  ])("in constants may be code, and is none in NVIDIA's sections: %s", async (section, features) => {
    // vpaddd %ymm0, %ymm1, %ymm2
    const bytes = Array.from({ length: 128 }, () => "0xc5, 0xf5, 0xfe, 0xd0").join();
    const constants = `__attribute__((section("${section}"))) const unsigned char code[512] = {${bytes}};`;
    expect((await codeOf(compile(constants, ["-Wl,-z,noseparate-code"]))).features).toEqual(features);
  });

  it("of the baseline holds nothing that has to be asked for", async () => {
    const code = await codeOf(compile(loop, []));
    expect(Object.values(code.features).every(({ instructions }) => instructions === 0)).toBe(true);
    expect(code).toMatchObject({ architecture: "x86_64", unknownInstructions: 0, asks: [], signs: [] });
    expect(code.codeBytes).toBeGreaterThan(100);
  });

  it("of Haswell uses AVX2 and FMA, and no SSE of before", async () => {
    const code = await codeOf(compile(loop, ["-march=haswell"]));
    expect(Object.keys(code.features)).toEqual(expect.arrayContaining(["avx", "fma", "popcnt"]));
    expect(code.features.fma?.instructions).toBeGreaterThan(0);
    expect(code.evidence?.pairs.avx).toMatchObject({ older: 0 });
  });

  it.each([
    "x86-64-v2",
    "x86-64-v3",
    "x86-64-v4",
    "bdver2",
    "znver3",
    "alderlake",
    "icelake-server",
    "sapphirerapids",
  ])("stays within what the table says of %s", async (name) => {
    const march = findMarch(name);
    if (march === null) throw new Error(`no march ${name}`);
    const allowed = new Set(marchFeatures(march));
    const code = await codeOf(compile(loop, [`-march=${name}`]));
    const beyond = Object.entries(code.features).filter(([feature]) => !allowed.has(feature));
    // TZCNT is `rep bsf`, which gcc writes for every CPU.
    expect(beyond.filter(([feature]) => feature !== "bmi1")).toEqual([]);
  });

  it("tells TZCNT that any CPU executes from code for BMI", async () => {
    const plain = (await codeOf(compile(loop, []))).features.bmi1;
    expect(plain === undefined || plain.instructions === 0).toBe(true);
    const andn = await codeOf(compile("long f(long a, long b) { return ~a & b; }\n", ["-mbmi"]));
    expect(andn.features.bmi1?.instructions).toBeGreaterThan(0);
  });

  it("that asks the CPU is known by it", async () => {
    const source = `static int one(void) { return 1; }
static int (*pick(void))(void) { __builtin_cpu_init(); return __builtin_cpu_supports("avx2") ? one : 0; }
int chosen(void) __attribute__((ifunc("pick")));
`;
    const code = await codeOf(compile(source, []));
    expect(code.resolvers.size).toBe(1);
    expect(code.signs).toContain("__cpu_model");
    expect(code.asks).toContain("cpuid");
  });

  it("counts an instruction that nobody knows inside a function as unknown", async () => {
    // 0x06 is no instruction in 64-bit mode.
    const code = await codeOf(compile('void f(void) { __asm__(".byte 0x06"); }\n', []));
    expect(code.unknownInstructions).toBeGreaterThan(0);
  });

  it("takes bytes between functions beside what is no instruction for data", async () => {
    const data = `__asm__(".text\\nvaddps %ymm0, %ymm1, %ymm2\\n.byte 0x06\\n.skip 64, 0x06\\n");\nvoid f(void) {}\n`;
    const code = await codeOf(compile(data, []));
    expect(code.features.avx).toEqual({ instructions: 0, doubtful: 1 });
    expect(code.unknownInstructions).toBe(0);
  });

  it("is found in stripped files too", async () => {
    const whole = await codeOf(compile(loop, ["-march=haswell"]));
    const stripped = await codeOf(compile(loop, ["-march=haswell", "-s"]));
    expect(stripped.features).toEqual(whole.features);
    expect(stripped.evidence).toEqual(whole.evidence);
  });
});

it("is decoded across the windows of the decoder", async () => {
  // vaddps ymm2, ymm1, ymm0: four bytes, so that none of them is cut when the window is a multiple of four, and some are when not.
  const instruction = Buffer.of(0xc5, 0xf4, 0x58, 0xd0);
  for (const lead of [0, 1, 3]) {
    const count = 2_500_000;
    const bytes = Buffer.concat([Buffer.alloc(lead, 0x90), Buffer.alloc(4 * count, instruction)]);
    const regions = [{ offset: 0, size: bytes.length, kind: "function" as const }];
    const { code } = await readX86Code(memorySource(bytes), regions, 64, []);
    expect(code.features).toEqual({ avx: { instructions: count, doubtful: 0 } });
    expect(code).toMatchObject({ unknownInstructions: 0, codeBytes: bytes.length });
  }
});

it("is read about once where no function is known, as in a stripped program in Go", async () => {
  const bytes = Buffer.alloc(2 ** 23, Buffer.of(0xc5, 0xf4, 0x58, 0xd0));
  const source = memorySource(bytes);
  let read = 0;
  const counted: typeof source = {
    ...source,
    readOver(at, buffer) {
      const piece = source.readOver(at, buffer);
      read += piece.length;
      return piece;
    },
  };
  const regions = [{ offset: 0, size: bytes.length, kind: "gap" as const }];
  const { code } = await readX86Code(counted, regions, 64, []);
  expect(code.features).toEqual({ avx: { instructions: bytes.length / 4, doubtful: 0 } });
  expect(read).toBeLessThan(1.1 * bytes.length);
});
