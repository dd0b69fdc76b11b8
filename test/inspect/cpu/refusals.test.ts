/** Programs that ask the CPU, and refuse by themselves: without the feature, they end with an error. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import bits from "../../../src/inspect/cpu/asked-features.json" with { type: "json" };
import type { AskedWords } from "../../../src/inspect/cpu/asked-words.ts";
import { findCpuNeed } from "../../../src/inspect/cpu/cpu-need.ts";
import { allRefusals, noRefusals } from "../../../src/inspect/cpu/refusals.ts";
import { rustNames } from "../../../src/inspect/cpu/rust-question.ts";
import type { FunctionReader } from "../../../src/inspect/cpu/x86-functions.ts";
import type { Elf } from "../../../src/inspect/elf/elf.ts";
import { inspectFile } from "../../../src/inspect/inspect-file.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { whyNoGcc, whyNoVersion } from "../../support/programs.ts";

const whyNot = process.arch === "x64" ? whyNoGcc() : "no x86-64 CPU";

async function needsOf(files: Readonly<Record<string, string>>, ...options: readonly string[]) {
  const cwd = makeFolder(files);
  execFileSync("gcc", [...Object.keys(files), "-w", "-o", "a.out", ...options], { cwd });
  const found = await inspectFile(memorySource(readFileSync(join(cwd, "a.out"))), false);
  if (found?.cpu == null) throw new Error("no code");
  return findCpuNeed({ cpu: found.cpu, isVariant: false, neededLevel: null, through: [] }).features;
}

const work = { "work.c": '#include <stdio.h>\nint work(int n) { return printf("%d\\n", n) < 0; }\n' };
const head = `#include <err.h>
#include <cpuid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int work(int n);
`;
const program = (text: string) => ({ "main.c": head + text, ...work });
const asks = '__builtin_cpu_supports("avx2")';
const plain = `int main(int n, char **v) {
  if (!${asks}) return fputs("needs AVX2\\n", stderr), 1;
  return work(n);
}
`;

describe("a program that asks and refuses", needs(whyNot), () => {
  it.each([
    ["with a status of main's", plain, ["-O2"]],
    ["without optimization", plain, ["-O0"]],
    ["stripped", plain, ["-O2", "-s"]],
    ["as a static program without names", plain, ["-O2", "-s", "-static"]],
    ["as a program that is never moved", plain, ["-O2", "-no-pie", "-fno-pie"]],
    ["by exit", plain.replace("1;", "exit(1), 1;"), ["-O2"]],
    ["by exit in a static program", plain.replace("1;", "exit(1), 1;"), ["-O2", "-s", "-static"]],
    ["by abort", plain.replace('return fputs("needs AVX2\\n", stderr), 1', "abort()"), ["-O2"]],
    ["by a trap", plain.replace('return fputs("needs AVX2\\n", stderr), 1', "__builtin_trap()"), ["-Os"]],
    ["by err.h", plain.replace('return fputs("needs AVX2\\n", stderr), 1', 'errx(2, "needs AVX2")'), ["-O2"]],
    [
      "by what a function has kept",
      plain
        .replace(asks, "able")
        .replace(
          "int main",
          `int able;\n__attribute__((noinline)) void ask(void) { able = !!${asks}; }\nint main`,
        )
        .replace("if (!able)", "ask();\n  if (!able)"),
      ["-O2"],
    ],
    [
      "by what a constructor has kept",
      plain
        .replace(asks, "able")
        .replace(
          "int main",
          `_Bool able;\n__attribute__((constructor)) void ask(void) { __builtin_cpu_init(); able = ${asks}; }\nint main`,
        ),
      ["-O2", "-s"],
    ],
    [
      "behind a function of its own",
      plain
        .replace(asks, "able()")
        .replace("int main", `__attribute__((noinline)) int able(void) { return !!${asks}; }\nint main`),
      ["-O2"],
    ],
    [
      "in a function that main calls",
      `__attribute__((noinline)) void check(void) { if (!${asks}) exit(1); }
int main(int n, char **v) { check(); return work(n); }
`,
      ["-O2"],
    ],
    ["for one of two features", plain.replace("!", `!__builtin_cpu_supports("avx512f") || !`), ["-O2"]],
    [
      "by CPUID",
      plain
        .replace(asks, "able()")
        .replace(
          "int main",
          "static int able(void) { unsigned a, b, c, d; return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b >> 5 & 1; }\nint main",
        ),
      ["-O2"],
    ],
  ])("needs what it asks for: %s", async (_, text, options) => {
    const features = await needsOf(program(text), ...options);
    expect(features.avx2).toBe("needed");
  });

  const leaf = `unsigned leaf7(void) {
  unsigned b, a = 7, c = 0;
  __asm__ volatile("xchg %%rbx, %q1\\n cpuid\\n xchg %%rbx, %q1" : "+a"(a), "=&r"(b), "+c"(c) : : "edx");
  return b;
}
`;
  const rows = `const struct { const char *name; unsigned bit; } needed[] = {{"bmi1", 1u << 3}, {"avx2", 1u << 5}};
int main(int n, char **v) {
  unsigned b = leaf7();
  for (int i = 0; i < 2; i++)
    if (!(b & needed[i].bit)) return fprintf(stderr, "needs %s\\n", needed[i].name), 1;
  return work(n);
}
`;
  const struct = `struct able { int avx2, fma; };
__attribute__((noinline)) struct able ask(void) {
  struct able found = {0};
  unsigned a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d)) found.fma = c >> 12 & 1;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) found.avx2 = b >> 5 & 1;
  return found;
}
__attribute__((noinline)) void check(const struct able *found) { if (!found->avx2 || !found->fma) exit(1); }
int main(int n, char **v) {
  struct able found = ask();
  check(&found);
  return work(n);
}
`;
  const levels = `int main(int n, char **v) {
  int level = 1;
  if (__builtin_cpu_supports("ssse3")) level = 2;
  if (level == 2 && ${asks}) level = 3;
  if (level < 3) return printf("%d\\n", level), 3;
  return work(n);
}
`;
  const deep = `__attribute__((noinline)) int able(void) { return ${asks}; }
__attribute__((noinline)) int check(void) { return able() ? 0 : -1; }
__attribute__((noinline)) int start(int n) { return check() < 0 ? -1 : work(n); }
int main(int n, char **v) { return start(n) < 0 ? 2 : 0; }
`;

  it.each([
    ["of a row of names", leaf + rows],
    ["of a structure that another function has filled", struct],
    ["of a level", levels],
    ["below three functions", deep],
  ])("needs what it asks for by the bits %s", async (_, text) => {
    for (const level of ["-O0", "-O2"])
      expect((await needsOf(program(text), level)).avx2, level).toBeOneOf(["needed", "undecided"]);
    expect((await needsOf(program(text), "-O2")).avx2).toBe("needed");
  });

  const kept = (between: string) => `struct { int verbose, able; } own;
__attribute__((noinline)) void ask(void) { own.able = ${asks}; }
${between}
  if (!own.able) return fputs("needs AVX2\\n", stderr), 1;
  return work(n);
}
`;
  it.each([
    ["that no other code writes", "int main(int n, char **v) {\n  ask();", "needed"],
    [
      "that an option sets",
      `__attribute__((noinline)) void options(void) { if (getenv("FORCE")) own.able = 1; }
int main(int n, char **v) {\n  ask();\n  options();`,
      "undecided",
    ],
    [
      "whose address another function has",
      `__attribute__((noinline)) void options(int *at) { if (getenv("FORCE")) at[1] = 1; }
int main(int n, char **v) {\n  ask();\n  options(&own.verbose);`,
      "undecided",
    ],
    [
      "whose address an imported function has",
      "int main(int n, char **v) {\n  ask();\n  puts((char *)&own.verbose);",
      "undecided",
    ],
  ])("needs what it has kept in data %s", async (_, between, expected) => {
    for (const options of [["-O0"], ["-O2"], ["-O2", "-no-pie", "-fno-pie"], ["-O2", "-s"]])
      expect((await needsOf(program(kept(between)), ...options)).avx2, options.join(" ")).toBe(expected);
  });

  it("may refuse by a text that it writes down first", async () => {
    const text = `int main(int n, char **v) {
  char missing[64] = "";
  if (!${asks}) strcat(missing, " avx2");
  if (!__builtin_cpu_supports("fma")) strcat(missing, " fma");
  if (missing[0]) return fprintf(stderr, "missing%s\\n", missing), 1;
  return work(n);
}
`;
    expect(await needsOf(program(text), "-O2")).toMatchObject({ avx2: "undecided", fma: "undecided" });
  });

  const constructing = `__attribute__((constructor)) static void check(void) {
  __builtin_cpu_init();
  if (!${asks}) { fputs("needs AVX2\\n", stderr); exit(1); }
}
int main(int n, char **v) { return work(n); }
`;

  it.each([
    ["a program", []],
    ["a stripped program", ["-s"]],
    ["a library", ["-shared", "-fPIC"]],
    ["a program that is never moved", ["-no-pie", "-fno-pie"]],
  ])("needs what a constructor asks for: %s", async (_, options) => {
    expect((await needsOf(program(constructing), "-O2", ...options)).avx2).toBe("needed");
  });

  it("may use what a constructor asks for without an end", async () => {
    const text = constructing.replace("exit(1);", "");
    expect((await needsOf(program(text), "-O2")).avx2).toBeOneOf([undefined, "mayBeUsed"]);
  });

  it("needs a level of the ABI", async () =>
    expect(await needsOf(program(plain.replace('"avx2"', '"x86-64-v3"')), "-O2")).toMatchObject({
      ...{ avx2: "needed", bmi2: "needed", movbe: "needed" },
    }));

  it.each([
    [
      "behind another way",
      plain.replace("if (", 'if (!strcmp(v[n - 1], "--force")) return work(1);\n  if ('),
    ],
    [
      "in a loop of options",
      plain.replace("if (", "for (; *v; v++) if (**v == 45) return work(2);\n  if (n > 2 && "),
    ],
  ])("may refuse: %s", async (_, text) => {
    expect((await needsOf(program(text), "-O2")).avx2).toBe("undecided");
  });

  // Each option adds a number that a later one compares: the ways through main are too many to be followed one by one.
  const options = (count: number) =>
    Array.from({ length: count }, (_, each) => `if (n == ${each + 3}) seen |= work(${each}), v++;`).join(
      "\n  ",
    );

  it("needs what it asks for behind many options", async () => {
    const text = plain.replace("if (", `int seen = 0;\n  ${options(200)}\n  if (`);
    expect((await needsOf(program(text), "-O1")).avx2).toBe("needed");
  });

  it("is not proved to pass behind more instructions than are followed", async () => {
    const long = `if (n > 1 && ${asks}) work(1);\n  __asm__(".rept 12000\\nnop\\n.endr");\n  if (`;
    const text = plain.replace("if (", long).replaceAll('"avx2")', '"x86-64-v3")');
    expect((await needsOf(program(text), "-O1")).avx2).toBe("undecided");
  });

  it.each([
    ["a choice", `int main(int n, char **v) { return work(${asks} ? n : 3); }`],
    ["a warning", plain.replace("return fputs", "fputs").replace(", 1;", ";")],
    ["a success", plain.replace(", 1;", ", 0;")],
    ["an error of another kind", plain.replace(`!${asks}`, "n > 3").replace("work(n)", `work(${asks})`)],
    ["a feature that is not to be there", plain.replace("!", "")],
  ])("is no refusal: %s", async (_, text) => {
    expect((await needsOf(program(text), "-O2")).avx2).toBeOneOf([undefined, "mayBeUsed"]);
  });
});

/** What `__cpu_features2` has, which a program without names has beside `__cpu_model`. */
describe("a program without names that asks for a later feature", needs(whyNot), () => {
  it.each([
    ["dynamic", []],
    ["static", ["-static"]],
    ["never moved", ["-no-pie", "-fno-pie"]],
  ])("needs it: %s", async (_, options) => {
    const text = (feature: string) => program(plain.replace("avx2", feature));
    expect((await needsOf(text("lzcnt"), "-O2", "-s", ...options)).abm).toBe("needed");
    const level = await needsOf(text("x86-64-v3"), "-O2", "-s", ...options);
    expect(level).toMatchObject({ avx2: "needed", movbe: "needed" });
  });

  const marks = (then: string) => `unsigned marks;
__attribute__((noinline)) void ask(void) {
  if (${asks}) marks |= 1;
  if (__builtin_cpu_supports("fma")) marks |= 2;
}
int main(int n, char **v) {
  ask();
  if ((marks & 3) != 3) ${then}
  return work(n);
}
`;

  it.each(["-O0", "-O2"])(
    "may refuse by marks that functions set, to which others may write too: %s",
    async (level) => {
      const { avx2, fma } = await needsOf(program(marks('return fputs("too old\\n", stderr), 1;')), level);
      expect([avx2, fma]).toEqual(["undecided", "undecided"]);
    },
  );

  it("needs nothing where the marks choose a way", async () => {
    const { avx2 } = await needsOf(program(marks("return work(n + 1);")), "-O2");
    expect(avx2).toBeOneOf([undefined, "mayBeUsed"]);
  });
});

const whyNoRust = process.arch === "x64" ? whyNoVersion("rustc", "apt-get install rustc") : "no x86-64 CPU";

describe("a program by rustc that asks", needs(whyNoRust), () => {
  async function needsOfRust(text: string, ...options: readonly string[]) {
    const cwd = makeFolder({ "a.rs": text });
    execFileSync("rustc", ["-O", "a.rs", "-o", "a.out", ...options], { cwd, stdio: "ignore" });
    const found = await inspectFile(memorySource(readFileSync(join(cwd, "a.out"))), false);
    if (found?.cpu == null) throw new Error("no code");
    return findCpuNeed({ cpu: found.cpu, isVariant: false, neededLevel: null, through: [] }).features;
  }
  const text = (then: string, asked = 'std::is_x86_feature_detected!("avx2")') => `
fn able() -> bool { ${asked} }
fn main() {
  if !able() { ${then} }
  println!("{}", std::env::args().map(|each| each.len() as f64 * 1.5).sum::<f64>());
}
`;
  const wholeProgram = ["-C", "lto=fat", "-C", "panic=abort", "-C", "codegen-units=1", "-C", "strip=symbols"];
  const refusing = 'eprintln!("needs AVX2"); std::process::exit(1);';

  it.each([
    ["with names", []],
    ["without names", ["-C", "strip=symbols"]],
    ["without names, and small", ["-C", "strip=symbols", "-C", "opt-level=s"]],
    ["without optimization", ["-C", "opt-level=0"]],
    ["without optimization and names", ["-C", "opt-level=0", "-C", "strip=symbols"]],
    ["that is smallest", ["-C", "opt-level=z", ...wholeProgram]],
    ["as one piece without names", wholeProgram],
    ["that is never moved", ["-C", "relocation-model=static"]],
  ])("and ends with a status needs what it asks for: %s", async (_, options) => {
    expect((await needsOfRust(text(refusing), ...options)).avx2).toBe("needed");
  });

  it("needs a later feature where its version of rustc has a known order of bits", async () => {
    const version = execFileSync("rustc", ["--version"], { encoding: "utf8" });
    const minor = Number(/^rustc 1\.(\d+)\.\d+ /.exec(version)?.[1] ?? Number.NaN);
    const isKnown = bits.rustOrders.some(({ from, to }) => minor >= from && minor <= to);
    const { fma } = await needsOfRust(text(refusing).replace("avx2", "fma"));
    expect(fma).toBe(isKnown ? "needed" : "undecided");
  });

  it.each([
    ["as one piece", wholeProgram],
    ["without optimization", ["-C", "opt-level=0"]],
  ])("and takes another way needs nothing: %s", async (_, options) => {
    const program = text('println!("{}", std::env::args().count()); return;');
    expect((await needsOfRust(program, ...options)).avx2).toBeOneOf([undefined, "mayBeUsed"]);
  });

  it.each([
    ["panics", text('panic!("needs AVX2");')],
    [
      "gives an error back",
      text('return Err("needs AVX2".into());')
        .replace("main()", "main() -> Result<(), Box<dyn std::error::Error>>")
        .replace(/}\n$/, "  Ok(())\n}\n"),
    ],
    [
      "gives a code back",
      text("return std::process::ExitCode::FAILURE;")
        .replace("main()", "main() -> std::process::ExitCode")
        .replace(/}\n$/, "  std::process::ExitCode::SUCCESS\n}\n"),
    ],
  ])("and %s may refuse", async (_, program) => {
    expect((await needsOfRust(program)).avx2).toBe("undecided");
    expect((await needsOfRust(program, "-C", "opt-level=0")).avx2).toBe("undecided");
  });

  it("and gives no error back in any case needs nothing", async () => {
    const program = text('println!("slow"); return Ok(());')
      .replace("main()", "main() -> Result<(), Box<dyn std::error::Error>>")
      .replace(/}\n$/, "  Ok(())\n}\n");
    expect((await needsOfRust(program)).avx2).toBeOneOf([undefined, "mayBeUsed"]);
  });

  it.each([
    ["a warning", text('eprintln!("slow");')],
    ["an end in good order", text("std::process::exit(0);")],
    ["an error of another kind", text(refusing, "std::env::args().count() < 5")],
    ["a feature that is not to be there", text(refusing).replace("!able()", "able()")],
  ])("is no refusal: %s", async (_, program) => {
    expect((await needsOfRust(program)).avx2).toBeOneOf([undefined, "mayBeUsed"]);
  });
});

describe("the bits of Rust's answer", () => {
  const namesIn = (text: string) => {
    const section = { name: ".comment", offset: 0, size: text.length };
    return rustNames(memorySource(Buffer.from(text, "latin1")), { sections: [section] } as unknown as Elf);
  };
  const first = bits.rust.split(" ");

  // The numbers of `Feature` in std_detect, detect/arch/x86.rs, of each version.
  it.each([
    ["rustc version 1.74.0 (79e9716c9 2023-11-13)\0", 35],
    ["GCC: (Debian 12.2.0-14) 12.2.0\0rustc version 1.80.0 (051478957 2024-07-21)\0", 36],
    ["rustc version 1.85.1 (4eb161250 2025-03-15)\0", 49],
    ["rustc version 1.87.0 (17067e9ac 2025-05-09)\0", 49],
    ["rustc version 1.88.0 (6b00bc388 2025-06-23)\0rustc version 1.90.0 (1159e78c4 2025-09-14)\0", 54],
    ["rustc version 1.91.0 (f8297e351 2025-10-28)\0", 57],
    ["rustc version 1.95.0 (59807616e 2026-04-14)\0", 56],
  ])("stand in the order of the version: %j", (text, fma) => {
    const names = namesIn(text);
    expect(names.indexOf("fma")).toBe(fma);
    expect(names.slice(0, 16)).toEqual(first);
  });

  it.each([
    "",
    "GCC: (Debian 12.2.0-14) 12.2.0\0",
    "rustc version 1.95.0-nightly (59807616e 2026-04-14)\0",
    "rustc version 1.999.0\0",
    "rustc version 1.80.0\0rustc version 1.95.0\0",
  ])("are unknown behind the first: %j", (text) => {
    const names = namesIn(text);
    expect(names.slice(0, 16)).toEqual(first);
    expect(new Set(names.slice(16))).toEqual(new Set([bits.laterRust]));
  });
});

it("takes no more steps than its bound, however many starts a file has", () => {
  let steps = 0;
  const nops = Buffer.concat([Buffer.alloc(20, 0x90), Buffer.from([0xc3])]);
  const reader = {
    isEmpty: () => false,
    budget: Number.POSITIVE_INFINITY,
    instructions: () => [],
    bytesFrom: (place: number) => {
      steps++;
      return nops.subarray(place % 32);
    },
  } as unknown as FunctionReader;
  const words = { mayAnswer: () => true, isRustQuestion: () => false, pointers: {} } as unknown as AskedWords;
  const starts = Array.from({ length: 20_000 }, (_, index) => ({
    name: `PyInit_m${index}`,
    address: 32 * index,
  }));
  expect(allRefusals(starts, reader, words, () => true)).toEqual({ ...noRefusals, isWhole: false });
  expect(steps).toBeLessThanOrEqual(300_000);
  // A start that stands there twice is walked through once.
  steps = 0;
  allRefusals(Array(9).fill({ name: "PyInit_m", address: 32 }), reader, words, () => true);
  expect(steps).toBe(21);
});
