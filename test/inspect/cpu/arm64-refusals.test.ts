/** Programs and modules for AArch64 that ask the kernel, a register, or what a runtime or they themselves have kept, and refuse. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { findCpuNeed } from "../../../src/inspect/cpu/cpu-need.ts";
import { inspectFile } from "../../../src/inspect/inspect-file.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { whyNot as whyNotRun, whyNoVersion } from "../../support/programs.ts";

const compiler = "aarch64-linux-gnu-gcc";
const whyNot = whyNoVersion(compiler, "apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross");

async function needsOf(text: string, ...options: readonly string[]) {
  const cwd = makeFolder({ "main.c": text, ...parts });
  const files = options.includes("-nostdlib") ? ["main.c"] : ["main.c", "work.c"];
  execFileSync(compiler, [...files, "-w", "-o", "a.out", ...options], { cwd });
  const found = await inspectFile(memorySource(readFileSync(join(cwd, "a.out"))), false);
  if (found?.cpu == null) throw new Error("no code");
  return findCpuNeed({ cpu: found.cpu, isVariant: false, neededLevel: null, through: [] }).features;
}

const parts = {
  "work.c": '#include <stdio.h>\nint work(int n) { return printf("%d\\n", n) < 0; }\n',
};
const head = `#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
int work(int n);
extern char __aarch64_have_lse_atomics __attribute__((visibility("hidden")));
`;
const asks = "(getauxval(AT_HWCAP) & HWCAP_SVE)";
const program = (asked: string, then: string) => `${head}
int main(int n, char **v) {
  if (${asked}) ${then}
  return work(n);
}
`;
const refusing = 'return fputs("too old\\n", stderr), 1;';

describe("a program for AArch64 that asks and refuses", needs(whyNot), () => {
  it.each([
    ["dynamic", ["-O2"]],
    ["without optimization", ["-O0"]],
    ["stripped", ["-O2", "-s"]],
    ["that is never moved", ["-O2", "-no-pie"]],
    ["static", ["-O2", "-static"]],
    ["static, without names", ["-Os", "-static", "-s"]],
  ])("needs what it asks for: %s", async (_, options) => {
    expect((await needsOf(program(`!${asks}`, refusing), ...options)).sve).toBe("needed");
  });

  const lse = "(getauxval(AT_HWCAP) & HWCAP_ATOMICS)";
  it.each([
    ["LSE", { atomics: "needed" }, `!${lse}`, refusing],
    ["what libgcc asked for", { atomics: "needed" }, "!__aarch64_have_lse_atomics", "exit(2);"],
    ["the second word", { sve2: "needed" }, "!(getauxval(AT_HWCAP2) & 2)", "abort();"],
    ["a bit above the 32nd", { sve2p1: "needed" }, "!(getauxval(AT_HWCAP2) & 1UL << 36)", refusing],
    ["two", { atomics: "needed", sve: "needed" }, `!${lse} || !${asks}`, refusing],
    ["behind another way", { sve: "undecided" }, `n > 3 && !${asks}`, refusing],
  ])("is told: %s", async (_, told, asked, then) => {
    for (const option of ["-O2", "-O0"])
      expect(await needsOf(program(asked, then), option)).toMatchObject(told);
  });

  it("is told behind a function of its own, and from a variable", async () => {
    const own = `${head}
__attribute__((noinline)) static int able(void) { return !!${asks}; }
int main(int n, char **v) {
  unsigned long word = able();
  if (!word) ${refusing}
  return work(n);
}
`;
    for (const option of ["-O2", "-O0"]) expect((await needsOf(own, option)).sve).toBe("needed");
  });

  it.each([
    ["a warning", `!${asks}`, 'fputs("slow\\n", stderr);'],
    ["a success", `!${asks}`, "return 0;"],
    ["an error of another kind", `n > 3 && work(!${asks})`, refusing],
    ["a feature that is not to be there", asks, refusing],
    ["another number of the kernel's", "!(getauxval(AT_PAGESZ) & HWCAP_SVE)", refusing],
  ])("is no refusal: %s", async (_, asked, then) => {
    expect((await needsOf(program(asked, then), "-O2")).sve).toBeOneOf([undefined, "mayBeUsed"]);
  });

  /** A static program without names whose start and question are as musl's, with the loop as some compiler writes it. */
  const chooses = (number: number, next: string) => `
unsigned long *auxv, isSecure;
unsigned long ask(unsigned long item);
__asm__("ask: cmp x0, #23; beq 2f; adrp x1, auxv; ldr x1, [x1, :lo12:auxv]; 1: ${next}; cbz x2, 2f; cmp x2, x0; bne 1b; 2: ret");
__attribute__((noinline)) static int work(int n) { volatile int m = n; return m; }
__attribute__((noinline, target("arch=armv8.2-a+dotprod"))) static int wide(int n) {
  __asm__ volatile("sdot v0.4s, v1.16b, v2.16b");
  return work(n);
}
__attribute__((noinline)) int main(int n) { return ask(${number}) & (1 << 20) ? wide(n) : work(n); }
__attribute__((noinline)) void begin(int (*run)(int), unsigned long *stack) {
  auxv = stack + *stack;
  isSecure = run(*stack);
  for (;;);
}
__asm__(".globl _start; _start: mov x29, #0; mov x30, #0; adrp x0, main; add x0, x0, :lo12:main; mov x1, sp; bl begin");
`;
  it("does not choose by libgcc's question for atomic operations, of which it says nothing else", async () => {
    const libgcc = `
int haveLse;
__attribute__((constructor)) static void keep(void) { haveLse = ask(16) >> 8 & 1; }
__attribute__((noinline)) int add(int *to) {
  if (!haveLse) return __atomic_fetch_add(to, 1, 0);
  __asm__(".arch_extension lse; ldadd w0, w0, [%0]" :: "r"(to) : "w0");
  return 0;
}`;
    const text = chooses(6, "ldr x2, [x1], #16") + libgcc;
    const options = ["-O2", "-nostdlib", "-static", "-s", "-mno-outline-atomics"];
    expect(await needsOf(text, ...options)).toMatchObject({ atomics: "mayBeUsed", asimddp: "compiledFor" });
  });

  it.each([
    ["a load that steps on behind itself", 16, "ldr x2, [x1], #16", "mayBeUsed"],
    ["a load that steps on before itself", 16, "ldr x2, [x1, #16]!", "mayBeUsed"],
    ["a sum", 16, "ldr x2, [x1]; add x1, x1, #16", "mayBeUsed"],
    ["a question for the size of pages", 6, "ldr x2, [x1], #16", "compiledFor"],
  ])("chooses in a static program without names: %s", async (_, number, next, told) => {
    const options = ["-O2", "-nostdlib", "-static", "-s"];
    expect((await needsOf(chooses(number, next), ...options)).asimddp).toBe(told);
  });

  const kept = `${head}
static unsigned long word;
int wrap(int number) { return getauxval(number); }
__attribute__((noinline)) void lend(unsigned long *place) { *place |= HWCAP_SVE; }
`;
  const first = "__attribute__((constructor)) static void begin(void)";
  const main = (text: string) => `int main(int n, char **v) { ${text} return work(n); }`;
  const ending = '{ fputs("too old\\n", stderr); exit(1); }';
  it.each([
    ["a constructor", "needed", `${first} { if (!${asks}) abort(); } ${main("")}`],
    ["a function of another number", "needed", main(`if (!(wrap(AT_HWCAP) & HWCAP_SVE)) ${ending}`)],
    [
      "a kept word",
      "needed",
      `${first} { word = getauxval(AT_HWCAP); } ${main(`if (!(word & HWCAP_SVE)) ${ending}`)}`,
    ],
    ["a kept mark", "needed", `${first} { if ${asks} word |= 4; } ${main(`if (!(word & 4)) ${ending}`)}`],
    [
      "a kept word that is lent",
      "undecided",
      `${first} { word = getauxval(AT_HWCAP); } ${main(`if (n > 3) lend(&word); if (!(word & HWCAP_SVE)) ${ending}`)}`,
    ],
    [
      "a kept word, and a warning",
      null,
      `${first} { word = getauxval(AT_HWCAP); } ${main('if (!(word & HWCAP_SVE)) puts("slow");')}`,
    ],
    [
      "a mark that is there at first",
      null,
      `static int mark = 1; ${first} { if ${asks} mark = 1; } ${main(`if (!mark) ${ending}`)}`,
    ],
    [
      "a constructor that refuses for another reason",
      null,
      `${first} { if (!${asks} && getenv("STRICT")) abort(); } ${main("")}`,
    ],
  ])("is told by what was asked before: %s", async (_, told, text) => {
    for (const option of ["-O2", "-O0"]) {
      const { sve } = await needsOf(kept + text, option);
      if (told === null) expect(sve).not.toBe("needed");
      else expect(sve).toBe(told);
    }
  });

  const rows =
    '{{"atomics", HWCAP_ATOMICS}, {"dot", HWCAP_ASIMDDP}, {"crc32", HWCAP_CRC32}, {"fp16", HWCAP_FPHP}}';
  const table = `${head}
static const struct { const char *name; unsigned long bit; } rows[] = ${rows};
static unsigned long word;
`;
  const all = { atomics: "needed", asimddp: "needed", crc32: "needed", fphp: "needed" };
  it.each([
    ["that ends at once", all, "if (!(word & rows[i].bit)) { puts(rows[i].name); exit(1); }", ""],
    ["that marks", all, "if (!(word & rows[i].bit)) bad = 1;", "if (bad) return 1;"],
    [
      "that tells all",
      all,
      "if (!(word & rows[i].bit)) { puts(rows[i].name); bad = 1; }",
      "if (bad) return 1;",
    ],
    [
      "that tells, and goes on",
      {},
      'puts(word & rows[i].bit ? "yes" : rows[i].name);',
      "if (n > 5) return 1;",
    ],
  ])("is told by a loop over a table: %s", async (_, told, each, behind) => {
    const text = `${table} int main(int n, char **v) {
  unsigned long word = getauxval(AT_HWCAP);
  int bad = 0;
  for (int i = 0; i < 4; i++) { ${each} }
  ${behind}
  return work(n);
}`;
    for (const option of ["-O0", "-O2", "-O3"]) {
      const needed = Object.entries(await needsOf(text, option)).filter(([, need]) => need !== "mayBeUsed");
      expect(Object.fromEntries(needed), option).toEqual(told);
    }
  });

  it("may refuse by a table that nobody knows", async () => {
    const text = `${head} int main(int n, char **v) {
  unsigned long *rows = (unsigned long *)v, word = getauxval(AT_HWCAP);
  for (int i = 0; i < 4; i++) if (!(word & rows[i])) ${ending}
  return work(n);
}`;
    for (const option of ["-O0", "-O2"]) expect((await needsOf(text, option)).sve).toBe("undecided");
  });

  const structure = `${head}
struct features { unsigned long lse, dot, crc, fp16; };
#define A getauxval(AT_HWCAP)
__attribute__((noinline)) void detect(struct features *f) {
  unsigned long word = A;
  f->lse = word & HWCAP_ATOMICS; f->dot = word & HWCAP_ASIMDDP; f->crc = word & HWCAP_CRC32; f->fp16 = word & HWCAP_FPHP;
}
`;
  it.each([
    ["that is refused by", "needed", "if (!f.dot) return 1;"],
    ["that is told", undefined, 'puts(f.dot ? "fast" : "slow"); if (n > 4) return 1;'],
  ])("is told by a structure that a function fills: %s", async (_, told, then) => {
    const text = `${structure} int main(int n, char **v) { struct features f; detect(&f); ${then} return work(n + f.lse); }`;
    for (const option of ["-O0", "-O2", "-O3"]) expect((await needsOf(text, option)).asimddp).toBe(told);
  });

  const numbers = Array.from({ length: 100 }, (_, each) => each);
  const own = "__attribute__((noinline))";
  const many = numbers.map((each) => `${own} void f${each}(int n) { work(n + ${each}); }`).join("\n");
  const callsMany = numbers.map((each) => `f${each}(n);`).join("");
  const able = `${own} int up0(void) { work(0); return !!${asks}; }\n`;
  const up = numbers
    .slice(1, 20)
    .map((each) => `${own} int up${each}(void) { work(${each}); return up${each - 1}(); }`);
  const down = (then: string) =>
    numbers
      .slice(0, 9)
      .map((each) =>
        each === 0
          ? `${own} void down0(int ok) { work(0); if (!ok) ${then} }`
          : `${own} void down${each}(int ok) { down${each - 1}(ok); work(${each}); }`,
      );
  const much = '__asm__(".rept 6000\\nnop\\n.endr"); work(n);';
  const check = (text: string) =>
    `void check(int n) { ${text} }\nvoid (*volatile later)(int) = check;\n${main("later(n);")}`;
  it.each<readonly [string, string, (then: string) => string]>([
    ["behind many functions", "needed", (then) => many + able + main(`${callsMany} if (!up0()) ${then}`)],
    ["far below main", "undecided", (then) => able + up.join("\n") + main(`if (!up19()) ${then}`)],
    ["far below the question", "needed", (then) => down(then).join("\n") + main(`down8(!!${asks});`)],
    ["by a pointer", "undecided", (then) => check(`${much} if (!${asks}) ${then} ${much}`)],
    ["by a pointer, at length", "undecided", (then) => check(`if (!${asks}) { ${much} ${then} }`)],
    [
      "behind a long function",
      "undecided",
      (then) =>
        `int long_able(int n) { ${much.replace("6000", "600")} return !!${asks}; } ${main(`if (!long_able(n)) ${then}`)}`,
    ],
    [
      "by a pointer, for what was kept",
      "undecided",
      (then) =>
        `static int ok; ${own} void keep(void) { ok = !!${asks}; } ${check(`keep(); if (!ok) ${then}`)}`,
    ],
    [
      "for what was kept by a function that is run once",
      "undecided",
      (then) => `#include <pthread.h>
static int ok;
static pthread_once_t once;
static void keep(void) { ok = !!${asks}; }
${main(`pthread_once(&once, keep); if (!ok) ${then}`)}`,
    ],
  ])("is told %s", async (_, told, text) => {
    for (const option of ["-O0", "-O2"]) {
      expect((await needsOf(head + text(ending), option)).sve, option).toBe(told);
      expect((await needsOf(head + text('puts("slow");'), option)).sve, option).toBeUndefined();
    }
  });

  const field = (register: string, low: number) =>
    `({ unsigned long all; __asm__("mrs %0, ${register}" : "=r"(all)); (all >> ${low}) & 15; })`;
  it.each([
    ["a field that is zero", { sve: "needed" }, `${field("ID_AA64PFR0_EL1", 32)} == 0`],
    ["a field that is below two", { atomics: "needed" }, `${field("ID_AA64ISAR0_EL1", 20)} < 2`],
    [
      "two features in a field",
      { sha512: "needed", sha2: "needed" },
      `!(${field("ID_AA64ISAR0_EL1", 12)} & 2)`,
    ],
    ["a register that tells the model", {}, `${field("MIDR_EL1", 24)} == 1`],
  ])("is told by a register of the CPU: %s", async (_, told, asked) => {
    const needed = Object.entries(await needsOf(program(asked, refusing), "-O2"));
    expect(Object.fromEntries(needed.filter(([, need]) => need === "needed"))).toEqual(told);
  });

  it.each([
    ["a module of Python", "needed", `void *PyInit_part(void) { if (!${asks}) return 0; return malloc(9); }`],
    [
      "a module of Java",
      "needed",
      `int JNI_OnLoad(void *a, void *b) { if (!${asks}) { puts("too old"); return -1; } return 65544; }`,
    ],
    ["a constructor", "needed", `${first} { if (!${asks}) abort(); }`],
    ["a function that nobody calls", undefined, `int check(void) { if (!${asks}) abort(); return 0; }`],
  ])("is told of a library: %s", async (_, told, text) => {
    expect((await needsOf(head + text, "-O2", "-shared", "-fPIC")).sve).toBe(told);
  });

  it("is not proved where the way to the question is too long", async () => {
    const far = (asked: string) =>
      program(asked, refusing).replace("  if", '  __asm__(".rept 11000\\nnop\\n.endr");\n  if');
    const sve = `__asm__(".arch_extension sve\\n.globl add\\nadd: add z0.s, z0.s, z1.s\\nret");`;
    expect((await needsOf(far(`!${asks}`) + sve, "-O2")).sve).toBe("undecided");
    expect((await needsOf(far("n > 9 && getauxval(AT_HWCAP) < 0") + sve, "-O2")).sve).toBe("undecided");
  });
});

const rustTarget = "aarch64-unknown-linux-gnu";
const whyNoRust =
  whyNot ??
  whyNotRun(
    "rustc",
    [`--target=${rustTarget}`, "--crate-name=a", "--crate-type=lib", "--emit=metadata=-", "-"],
    {
      install: `rustup target add ${rustTarget}`,
    },
  );

describe("a program by rustc for AArch64 that asks", needs(whyNoRust), () => {
  async function needsOfRust(text: string, ...options: readonly string[]) {
    const cwd = makeFolder({ "a.rs": text });
    const target = [`--target=${rustTarget}`, "-C", `linker=${compiler}`];
    execFileSync("rustc", ["a.rs", "-o", "a.out", ...target, ...options], { cwd, stdio: "ignore" });
    const found = await inspectFile(memorySource(readFileSync(join(cwd, "a.out"))), false);
    if (found?.cpu == null) throw new Error("no code");
    return findCpuNeed({ cpu: found.cpu, isVariant: false, neededLevel: null, through: [] }).features;
  }
  const text = (feature: string, then: string) => `fn main() {
    if !std::arch::is_aarch64_feature_detected!("${feature}") { ${then} }
    println!("{}", std::env::args().count());
}`;
  const leaving = 'eprintln!("too old"); std::process::exit(1);';

  it.each([
    ["in the first word", "lse", { atomics: "needed" }],
    ["in the second word", "sve2", { sve2: "needed" }],
    ["of two features", "sha3", { sha3: "needed", sha512: "needed" }],
  ])("and leaves needs the feature: a bit %s", async (_, feature, told) => {
    expect(await needsOfRust(text(feature, leaving), "-O")).toMatchObject(told);
    expect(await needsOfRust(text(feature, leaving), "-Copt-level=s", "-Cstrip=symbols")).toMatchObject(told);
  });

  it("and panics may refuse", async () =>
    expect((await needsOfRust(text("sve", 'panic!("too old");'), "-O")).sve).toBe("undecided"));

  it.each([
    ["leaves", "needed", text("lse", leaving)],
    ["panics", "undecided", text("lse", 'panic!("too old");')],
    [
      "gives an error back",
      "undecided",
      `fn main() -> Result<(), String> {
    if !std::arch::is_aarch64_feature_detected!("lse") { return Err("too old".to_string()); }
    println!("{}", std::env::args().count());
    Ok(())
}`,
    ],
    [
      "leaves in a thread",
      "undecided",
      `fn main() { std::thread::spawn(|| { if !std::arch::is_aarch64_feature_detected!("lse") { ${leaving} } }).join().unwrap(); }`,
    ],
    ["goes on", "no", text("lse", 'eprintln!("slow");')],
  ])("is told without optimization: one that %s", async (_, told, source) => {
    const { atomics } = await needsOfRust(source, "-Copt-level=0");
    if (told === "no") expect(atomics).not.toBe("needed");
    else expect(atomics).toBe(told);
  });

  it("and goes on needs nothing", async () =>
    expect((await needsOfRust(text("sve", 'eprintln!("slow");'), "-O")).sve).toBeOneOf([
      undefined,
      "mayBeUsed",
    ]));
});
