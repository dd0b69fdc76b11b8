/** Programs that refuse by what is far from their question: a long function, another argument, a function that is run once, a list of commands. */

import { describe, expect, it } from "vitest";
import { needs } from "../../support/needs.ts";
import { whyNot } from "../../support/programs.ts";
import { asks, needsBy, needsOf, program, whyNoProgram } from "./support/needs-of.ts";

/** As a library for video does: some dozen bits are added up, and a vendor's are taken away. */
const manyBits = `#define BIT(n) (1u << (n))
__attribute__((noinline)) static unsigned detect(void) {
  unsigned a, b, c, d, found = 0;
  char vendor[13] = {0};
  __cpuid(0, a, b, c, d);
  unsigned most = a;
  memcpy(vendor, &b, 4), memcpy(vendor + 4, &d, 4), memcpy(vendor + 8, &c, 4);
  __cpuid(1, a, b, c, d);
  unsigned signature = a;
  found |= d & BIT(25) ? 3 : 1;
  for (int bit = 0; bit < 1; bit++) if (c & BIT(bit)) found |= BIT(2);
  if (c & BIT(9)) found |= BIT(3);
  if (c & BIT(19)) found |= BIT(4);
  if (c & BIT(20)) found |= BIT(5);
  if (c & BIT(23)) found |= BIT(6);
  if (c & BIT(27)) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 6) == 6) {
      if (c & BIT(28)) found |= BIT(7);
      if (c & BIT(12)) found |= BIT(8);
      if (most >= 7) {
        __cpuid_count(7, 0, a, b, c, d);
        if (b & BIT(3)) found |= BIT(9);
        if (b & BIT(5)) found |= BIT(10);
        if (b & BIT(8)) found |= BIT(11);
        if ((low & 0xe0) == 0xe0 && (b & 0xd0030000) == 0xd0030000) found |= BIT(12);
      }
    }
  }
  __cpuid(0x80000000, a, b, c, d);
  if (a >= 0x80000001) {
    __cpuid(0x80000001, a, b, c, d);
    if (c & BIT(5)) found |= BIT(13);
    if (c & BIT(6)) found |= BIT(14);
    if (c & BIT(11)) found |= BIT(15);
    if (c & BIT(16)) found |= BIT(16);
  }
  if (!strcmp(vendor, "GenuineIntel")) {
    unsigned model = (signature >> 4 & 15) + (signature >> 12 & 0xf0);
    if (model == 9 || model == 13) found &= ~BIT(2);
    else if (model == 28) found |= BIT(17);
  }
  if (!strcmp(vendor, "AuthenticAMD") && signature == 0x500f10) found |= BIT(18);
  return found;
}
int main(int n, char **v) {
  if (!(detect() & BIT(10))) return fputs("needs AVX2\\n", stderr), 1;
  return work(n);
}
`;
const needing = "__attribute__((noinline)) static void need(const char *what, int has) {";
const commands = `static int need(void) { return ${asks} ? 0 : (fputs("needs AVX2\\n", stderr), 1); }
static int run(int n) { return need() ? 1 : work(n); }
static int list(int n) { return need() ? 1 : work(n + 1); }
static const struct { const char *name; int (*run)(int); } commands[] = {{"run", run}, {"list", list}};
int main(int n, char **v) {
  const char *name = n > 1 ? v[1] : "run";
  for (unsigned i = 0; i < 2; i++) if (!strcmp(name, commands[i].name)) return commands[i].run(n);
  return 2;
}
`;
const many = Array.from({ length: 90 }, (_, n) => n);

/** The program writes down what it lacks, and looks at the text later. */
const missingText = `int main(int n, char **v) {
  char missing[100] = "";
  if (!${asks}) strcat(missing, " avx2");
  if (!__builtin_cpu_supports("fma")) strcat(missing, " fma");
  if (missing[0]) { printf("missing%s\\n", missing); return 1; }
  return work(n);
}
`;
/** By the numbers of a row, which any code may write to, the program picks the register of CPUID. */
const rows = `struct row { const char *name; int which; unsigned bit; };
struct row needed[] = {{"fma", 2, 1u << 12}, {"avx2", 1, 1u << 5}, {"bmi2", 1, 1u << 8}};
static unsigned registers[4];
static void ask(void) {
  unsigned a, b, c, d;
  __cpuid(1, a, b, c, d);
  registers[2] = c;
  __cpuid_count(7, 0, a, b, c, d);
  registers[1] = b;
}
static int missing(void) {
  int count = 0;
  for (unsigned i = 0; i < sizeof needed / sizeof *needed; i++)
    if (!(registers[needed[i].which] & needed[i].bit)) fprintf(stderr, "needs %s\\n", needed[i].name), count++;
  return count;
}
int main(int n, char **v) {
  ask();
  if (missing()) exit(2);
  return work(n);
}
`;
const missingString = `#include <cstdio>
#include <string>
int main(int n, char **v) {
  std::string missing;
  if (!${asks}) missing += " avx2";
  if (!__builtin_cpu_supports("fma")) missing += " fma";
  if (!missing.empty()) { fprintf(stderr, "missing%s\\n", missing.c_str()); return 1; }
  printf("%d\\n", n);
  return 0;
}
`;
const missingList = `#include <cstdio>
#include <string>
#include <vector>
int main(int n, char **v) {
  std::vector<std::string> missing;
  if (!${asks}) missing.push_back("avx2");
  if (!__builtin_cpu_supports("fma")) missing.push_back("fma");
  if (!missing.empty()) { for (auto &each : missing) fprintf(stderr, "missing %s\\n", each.c_str()); return 1; }
  printf("%d\\n", n);
  return 0;
}
`;
const whyNo = (compiler: string) =>
  whyNot(compiler, ["--version"], {
    install: `apt-get install ${compiler === "clang++" ? "clang" : compiler}`,
  });

describe("a program that refuses far from its question", needs(whyNoProgram), () => {
  it.each([
    ["by a bit that a long function has added up", manyBits, ["-O2"]],
    ["and so in a static program without names", manyBits, ["-O2", "-s", "-static"]],
    [
      "by the second argument of a function",
      `${needing} if (!has) errx(1, "needs %s", what); }
int main(int n, char **v) { need("AVX2", ${asks}); return work(n); }
`,
      ["-O2"],
    ],
    ["in a command of a list", commands, ["-O2"]],
    ["in a command of a list, without optimization", commands, ["-O0"]],
    [
      "in the last of many functions",
      `${many.map((n) => `__attribute__((noinline)) static void f${n}(int n) { printf("%d\\n", n + ${n}); }`).join("\n")}
${needing} if (!has) exit(1); }
int main(int n, char **v) { ${many.map((n) => `f${n}(n);`).join(" ")} need("AVX2", ${asks}); return work(n); }
`,
      ["-O2"],
    ],
  ])("needs what it asks for: %s", async (_, text, options) => {
    expect((await needsOf(program(text), ...options)).avx2).toBe("needed");
  });

  it("needs one bit of many, and none of the others", async () => {
    const features = await needsOf(program(manyBits), "-O2");
    const others = Object.entries(features).filter(([, told]) => told === "needed" || told === "undecided");
    expect(others).toEqual([["avx2", "needed"]]);
  });

  it("may refuse without two bits of many, where one of them is enough", async () => {
    const text = manyBits.replace("detect() & BIT(10)", "detect() & (BIT(10) | BIT(14))");
    const features = await needsOf(program(text), "-O2");
    // Whoever lacks both lacks each of them.
    const told = Object.keys(features).filter((name) => features[name] !== "mayBeUsed");
    expect(told.length).toBeGreaterThan(0);
    for (const name of told) expect(["avx2", "sse4a"]).toContain(name);
    for (const name of told) expect(features[name]).toBe("undecided");
  });

  const once = `#include <pthread.h>
static int able;
static pthread_once_t control = PTHREAD_ONCE_INIT;
static void ask(void) { able = ${asks}; }
int main(int n, char **v) {
  pthread_once(&control, ask);
  if (!able) return fputs("needs AVX2\\n", stderr), 1;
  return work(n);
}
`;
  it.each([["-O0"], ["-O2"]])("may refuse by what a function keeps that is run once: %s", async (level) => {
    expect((await needsOf(program(once), level)).avx2).toBeOneOf(["needed", "undecided"]);
  });

  it.for([
    ["gcc", "-O0"],
    ["gcc", "-O2"],
    ["clang", "-O0"],
  ])("tells what a function reads of a kept answer: %s %s", async ([compiler = "", level = ""], { skip }) => {
    const why = whyNo(compiler);
    if (why !== null) skip(why);
    const text = `static unsigned found;
__attribute__((noinline)) static void ask(void) { if (${asks}) found |= 4; }
__attribute__((noinline)) static void need(void) { if (!(found & 4)) exit(1); }
int main(int n, char **v) { ask(); need(); return work(n); }
`;
    expect((await needsBy(compiler, program(text), level)).avx2).toBeOneOf(["needed", "undecided"]);
  });

  it.for([
    ["gcc", "-O0"],
    ["gcc", "-O2"],
    ["clang", "-O0"],
    ["clang", "-O2"],
    ["clang", "-O0", "-static", "-s"],
  ])(
    "may refuse by what stands in a text, a table or a list: %s %s",
    async ([compiler = "", ...options], { skip }) => {
      const why = whyNo(compiler);
      if (why !== null) skip(why);
      for (const text of [missingText, rows, manyBits])
        expect((await needsBy(compiler, program(text), ...options)).avx2).toBeOneOf(["needed", "undecided"]);
    },
  );

  it.for([
    ["g++", "-O0"],
    ["g++", "-O2"],
    ["clang++", "-O0"],
    ["clang++", "-O2"],
  ])("may refuse by a text or a list of C++: %s %s", async ([compiler = "", level = ""], { skip }) => {
    const why = whyNo(compiler);
    if (why !== null) skip(why);
    for (const text of [missingString, missingList]) {
      const features = await needsBy(compiler, { "main.cc": text }, level);
      expect(features.avx2).toBe("undecided");
      expect(features.fma).toBe("undecided");
      expect(features.bmi2).toBeUndefined();
    }
  });

  it("calls what a static program has in a list of constants", needs(whyNo("clang")), async () => {
    const text = `static int first(void) { return ${asks}; }
static int second(void) { return __builtin_cpu_supports("fma"); }
static int (*const checks[])(void) = {first, second};
int main(int n, char **v) {
  for (int i = 0; i < 2; i++) if (!checks[i]()) return 1;
  return work(n);
}
`;
    const features = await needsBy("clang", program(text), "-O0", "-static", "-s");
    expect([features.avx2, features.fma]).toEqual(["needed", "needed"]);
  });

  it.each([["-O0"], ["-O2"]])(
    "needs nothing where a text is only told, or made by both: %s",
    async (level) => {
      const told = missingText.replace("return 1;", "work(n + 1);");
      expect(told).not.toBe(missingText);
      const both = `struct state { char text[40]; int status; };
__attribute__((noinline)) void fast(struct state *own) { scanf("%39s", own->text); own->status = getchar(); }
__attribute__((noinline)) void plain(struct state *own) { scanf("%38s", own->text); own->status = getchar(); }
int main(int n, char **v) {
  struct state own;
  if (${asks}) fast(&own); else plain(&own);
  if (own.status) return fputs(own.text, stderr), 1;
  return work(n);
}
`;
      for (const text of [told, both])
        expect((await needsOf(program(text), level)).avx2).toBeOneOf([undefined, "mayBeUsed"]);
    },
  );

  it("needs nothing where each of many bits chooses a way", async () => {
    const text = manyBits.replace('return fputs("needs AVX2\\n", stderr), 1;', "return work(n + 1);");
    expect(text).not.toBe(manyBits);
    expect((await needsOf(program(text), "-O2")).avx2).toBeOneOf([undefined, "mayBeUsed"]);
  });
});
