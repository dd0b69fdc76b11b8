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

describe("a static program whose C library chooses", needs(whyNoX86), () => {
  const plain = functions + main.replace("asks()", "argc");

  it.each([[["-static"]], [["-static", "-s"]], [["-static-pie", "-fPIE"]], [["-static", "-flto"]]])(
    "needs no more than it was compiled for: %j",
    async (options) => {
      const found = await needOf(plain, ["-march=x86-64-v3", ...options]);
      for (const feature of v3) expect(["compiledFor", "needed"]).toContain(found[feature]);
      const others = Object.entries(found).filter(([name]) => name.startsWith("avx512"));
      expect(others.length).toBeGreaterThan(0);
      expect(new Set(others.map(([, need]) => need))).toEqual(new Set(["mayBeUsed"]));
    },
  );

  it("needs nothing where it was compiled for every CPU", async () => {
    const found = await needOf(plain, ["-static"]);
    expect(found.avx2).toBe("mayBeUsed");
    expect(new Set(Object.values(found))).toEqual(new Set(["mayBeUsed"]));
  });
});

describe("functions that a resolver chooses", needs(whyNoX86), () => {
  const cloned = `__attribute__((noinline)) static double half(double a, long b) { return a * b + (b << (b & 9)); }
__attribute__((target_clones("avx2", "default"))) double fast(const double *a, long n) {
  double s = 0;
  for (long i = 0; i < n; i++) s += half(a[i], n);
  return s;
}
`;

  it.each([[["-shared", "-fPIC"]], [[]], [["-static"]]])("say nothing of the others: %j", async (options) => {
    const source = `${functions}${cloned}${options.length === 2 ? "" : main.replace("asks()", "fast((double *)argv, 0)")}`;
    const found = await needOf(source, options);
    expect(found.avx).toBe("mayBeUsed");
    expect(new Set(Object.values(found))).toEqual(new Set(["mayBeUsed"]));
  });
});

describe("a file that asks nothing", needs(whyNoX86), () => {
  const built = (options: readonly string[], source = functions) =>
    needOf(source, ["-shared", "-fPIC", ...options]);

  it.each([
    ["-march=x86-64-v3", v3],
    ["-mavx2 -mfma -maes", ["avx", "fma"]],
    ["-mbmi2", ["bmi2"]],
    ["-mlzcnt", ["abm"]],
  ])("was compiled for what stands in it: %s", async (options, features) => {
    const zeros = "int zeros(unsigned a) { return __builtin_clz(a | 1); }\n";
    const found = await built(options.split(" "), functions + zeros);
    for (const feature of features) expect(found[feature]).toBe("compiledFor");
  });

  it("is undecided where few of its functions have it: its callers may choose", async () => {
    const one = `__attribute__((target("avx2"))) void twice(float *a) { for (int i = 0; i < 64; i++) a[i] *= 2; }\n`;
    expect((await built(["-O3"], functions + one)).avx).toBe("undecided");
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

  const scaling = `#include <stdio.h>
#include <string.h>
static float a[999];
int main(int argc, char **argv) {
  for (int i = 0; i < 999; i++) a[i] = a[i] * argc + 1;
  printf("%f %zu\\n", a[argc], strlen(argv[0]));
  return 0;
}
`;

  it.each([
    ["a program, which nobody chooses", [], "compiledFor", undefined],
    ["a library", ["-shared", "-fPIC"], "undecided", undefined],
    ["a static program, whose C library asks too", ["-static"], "undecided", "mayBeUsed"],
    ["a stripped one", ["-static", "-s"], "undecided", "mayBeUsed"],
  ])("may need SVE where it does not ask for it: %s", async (_, options, need, ofLibrary) => {
    const program = (march: string) =>
      needOf(scaling, ["-O3", `-march=${march}`, ...options], "aarch64-linux-gnu-gcc");
    expect((await program("armv8.2-a+sve")).sve).toBe(need);
    expect((await program("armv8-a")).sve).toBe(ofLibrary);
  });

  it("in Go is undecided about SHA3 beside PMULL, which the question may be for", async () => {
    // pmull v0.1q, v1.1d, v2.1d; eor3 v0.16b, v1.16b, v2.16b, v3.16b
    const sum = (product: string) => `
__attribute__((section(".gopclntab"))) const char table[] = "x";
int f(void) { __asm__(".word ${product}\\n.word 0xce020c20"); return table[0]; }
`;
    const built = (product: string) => needOf(sum(product), ["-shared", "-fPIC"], "aarch64-linux-gnu-gcc");
    expect((await built("0x0ee2e020")).sha3).toBe("undecided");
    expect((await built("0xd503201f")).sha3).toBe("mayBeUsed");
  });

  it("is undecided about LSE in a single function", async () => {
    const one = source.replace(/int f[1-9].*/g, "").replace(/^.*asks.*$/m, "");
    const found = (march: string) =>
      needOf(
        `${one}int main(void) { return f0(); }`,
        [`-march=${march}`, "-static"],
        "aarch64-linux-gnu-gcc",
      );
    expect((await found("armv8.1-a")).atomics).toBe("undecided");
    expect((await found("armv8-a")).atomics).toBe("mayBeUsed");
  });

  it("chooses LSE where the helpers of gcc have LSE beside exclusive loads and stores", async () =>
    expect((await built("armv8-a")).atomics).toBe("mayBeUsed"));

  it("chooses so where it is stripped of the name of libgcc's answer, and not beside a function with LSE alone", async () => {
    const helped = source.replace(/^.*asks.*$/m, "");
    const stripped = (text: string) =>
      needOf(text, ["-shared", "-fPIC", "-s", "-march=armv8-a"], "aarch64-linux-gnu-gcc");
    const alone = `__asm__(".arch_extension lse\\nalone: ldadd w0, w0, [x1]\\nret");`;
    expect((await stripped(helped)).atomics).toBe("mayBeUsed");
    expect((await stripped(`${helped}${alone}`)).atomics).toBe("undecided");
  });
});
