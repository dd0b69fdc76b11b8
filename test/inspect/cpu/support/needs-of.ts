/** What programs in C need of the CPU, by what inspection finds in gcc's builds. */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { memorySource } from "../../../../src/inspect/byte-source.ts";
import { findCpuNeed } from "../../../../src/inspect/cpu/cpu-need.ts";
import { inspectFile } from "../../../../src/inspect/inspect-file.ts";
import { makeFolder } from "../../../support/folders.ts";
import { whyNoGcc } from "../../../support/programs.ts";

/** null where gcc builds for x86-64, else the reason. */
export const whyNoProgram = process.arch === "x64" ? whyNoGcc() : "no x86-64 CPU";

/** `files` have C or C++ by their names. */
export const needsOf = (files: Readonly<Record<string, string>>, ...options: readonly string[]) =>
  needsBy("gcc", files, ...options);

/** The same of another compiler's build. */
export async function needsBy(
  compiler: string,
  files: Readonly<Record<string, string>>,
  ...options: readonly string[]
) {
  const cwd = makeFolder(files);
  execFileSync(compiler, [...Object.keys(files), "-w", "-o", "a.out", ...options], { cwd });
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
export const program = (text: string) => ({ "main.c": head + text, ...work });
export const asks = '__builtin_cpu_supports("avx2")';
export const plain = `int main(int n, char **v) {
  if (!${asks}) return fputs("needs AVX2\\n", stderr), 1;
  return work(n);
}
`;
