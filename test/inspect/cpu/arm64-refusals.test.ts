/** Programs for AArch64 that ask the kernel, or libgcc's answer, and refuse by themselves. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { findCpuNeed } from "../../../src/inspect/cpu/cpu-need.ts";
import { inspectFile } from "../../../src/inspect/inspect-file.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { whyNoVersion } from "../../support/programs.ts";

const compiler = "aarch64-linux-gnu-gcc";
const whyNot = whyNoVersion(compiler, "apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross");

async function needsOf(text: string, ...options: readonly string[]) {
  const cwd = makeFolder({ "main.c": text, ...parts });
  execFileSync(compiler, ["main.c", "work.c", "-w", "-o", "a.out", ...options], { cwd });
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

  it("is not proved where the way to the question is too long", async () => {
    const far = (asked: string) =>
      program(asked, refusing).replace("  if", '  __asm__(".rept 11000\\nnop\\n.endr");\n  if');
    const sve = `__asm__(".arch_extension sve\\n.globl add\\nadd: add z0.s, z0.s, z1.s\\nret");`;
    expect((await needsOf(far(`!${asks}`) + sve, "-O2")).sve).toBe("undecided");
    expect((await needsOf(far("n > 9 && getauxval(AT_PAGESZ) < 0") + sve, "-O2")).sve).toBe("undecided");
  });
});
