import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { findCpuNeed } from "../../../src/inspect/cpu/cpu-need.ts";
import { inspectFile } from "../../../src/inspect/inspect-file.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { whyNoGcc, whyNot } from "../../support/programs.ts";

const whyNoX86 = process.arch === "x64" ? whyNoGcc() : "no x86-64 CPU";

/** Functions as programs have them, and one question to the CPU. */
const functions = Array.from(
  { length: 40 },
  (_, index) => `
long bits${index}(long a, long b, int c) { return (a << c) + (~a & b) * ${index + 3} + (b >> c) + (a & (a - 1)); }
double sum${index}(const double *a, const float *b, int n) {
  double s = ${index};
  for (int i = 0; i < n; i++) s += a[i] * b[i];
  return s;
}`,
).join("\n");
const asking = `
int asks(void) { __builtin_cpu_init(); return __builtin_cpu_supports("avx2"); }
`;
const main = `
#include <stdio.h>
int main(int argc, char **argv) {
  double a[] = {argc, 2}; float b[] = {argc, 3};
  printf("%f %ld\\n", sum1(a, b, argc) + sum2(a, b, argc), bits1(argc, 3, argc));
  return asks() < 0;
}
`;

async function needOf(source: string, options: readonly string[], compiler = "gcc") {
  const cwd = makeFolder({ "a.c": source });
  execFileSync(compiler, ["-O2", "a.c", "-o", "a.out", ...options], { cwd });
  const file = await inspectFile(memorySource(readFileSync(join(cwd, "a.out"))), false);
  if (file?.cpu == null) throw new Error("no code");
  const neededLevel = file.program?.neededLevel ?? null;
  return findCpuNeed({ cpu: file.cpu, isVariant: false, neededLevel, through: [] }).features;
}

const v3 = ["avx", "bmi1", "bmi2"];

describe("a file that asks the CPU", needs(whyNoX86), () => {
  it.each([
    ["a library", ["-shared", "-fPIC"], functions + asking],
    ["a program", [], functions + asking + main],
    ["a static program, whose C library chooses", ["-static"], functions + asking + main],
  ])("was compiled for x86-64-v3 all the same: %s", async (_, options, source) => {
    const found = await needOf(source, ["-march=x86-64-v3", ...options]);
    for (const feature of v3) expect(["compiledFor", "needed"]).toContain(found[feature]);
  });

  it.each([
    ["a library", ["-shared", "-fPIC"], functions + asking],
    ["a static program", ["-static"], functions + asking + main],
  ])("of the baseline chooses: %s", async (_, options, source) => {
    const chosen = `__attribute__((target("avx2,bmi2"))) double fast(const double *a, long n) {
  double s = 0;
  for (long i = 0; i < (n << n); i++) s += a[i];
  return s;
}
double any(const double *a, long n) { return asks() ? fast(a, n) : 0; }
`;
    const found = await needOf(source + chosen, options);
    for (const feature of v3) expect([undefined, "mayBeUsed"]).toContain(found[feature]);
  });
});

describe("code that runs in any case", needs(whyNoX86), () => {
  const filling = `${asking}
double table[64];
__attribute__((constructor)) void fill(void) {
  for (int i = 0; i < 64; i++) table[i] = table[i] * 2 + 1;
}
`;

  it("needs what it has: a constructor", async () => {
    const found = await needOf(filling, ["-shared", "-fPIC", "-mavx"]);
    expect(found.avx).toBe("needed");
  });

  it("needs nothing of a path that it may leave out", async () => {
    const source = filling.replace("void fill(void) {", "void fill(void) {\n  if (!asks()) return;");
    const found = await needOf(source, ["-shared", "-fPIC", "-mavx"]);
    expect(found.avx).not.toBe("needed");
  });

  it("is main, and what main calls", async () => {
    const source = `__attribute__((noinline, target("avx"))) float half(float a) { return a / 2; }
int main(int argc, char **argv) { return half(argc) > 99; }
`;
    expect((await needOf(source, [])).avx).toBe("needed");
    expect((await needOf(source, ["-static"])).avx).toBe("needed");
    const guarded = source.replace("return half", "if (argc > 3) return 0; return half");
    expect((await needOf(guarded, [])).avx).not.toBe("needed");
  });
});

it("is needed where Go's runtime refuses to start", needs(whyNoX86), async () => {
  const sentence = "This program can only be run on AMD64 processors with v3 microarchitecture support.";
  const source = `const char refusal[] = "${sentence}";
__attribute__((section(".gopclntab"))) const char table[] = "x";
__attribute__((target("avx512f"))) double chosen(double a, unsigned long b) { return a + b; }
int f(void) { return refusal[0] + table[0]; }
`;
  const found = await needOf(source, ["-shared", "-fPIC"]);
  expect(found).toMatchObject({ avx2: "needed", bmi2: "needed", avx512f: "mayBeUsed" });
});

it("is never PREFETCHW, which older CPUs take for a hint", needs(whyNoX86), async () => {
  const found = await needOf('void f(char *a) { __asm__("prefetchw %0" : : "m"(*a)); }', [
    "-shared",
    "-fPIC",
  ]);
  expect(found).toEqual({ "3dnowprefetch": "mayBeUsed" });
});

const whyNoArm = whyNot("aarch64-linux-gnu-gcc", ["--version"], {
  install: "apt-get install gcc-aarch64-linux-gnu",
});

describe("a file for AArch64 that asks", needs(whyNoArm), () => {
  const source = `#include <stdatomic.h>
#include <sys/auxv.h>
atomic_int x[20];
unsigned long asks(void) { return getauxval(AT_HWCAP); }
${Array.from({ length: 9 }, (_, index) => `int f${index}(void) { return atomic_fetch_add(&x[${index}], 1); }`).join("\n")}
`;
  const built = (march: string) =>
    needOf(source, ["-shared", "-fPIC", `-march=${march}`], "aarch64-linux-gnu-gcc");

  it("was compiled for LSE where LSE stands in its functions", async () =>
    expect((await built("armv8.1-a")).atomics).toBe("compiledFor"));

  it("chooses LSE where the helpers of gcc have LSE beside exclusive loads and stores", async () =>
    expect((await built("armv8-a")).atomics).toBe("mayBeUsed"));
});
