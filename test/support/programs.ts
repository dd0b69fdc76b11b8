/**
 * Programs of this machine. One counts as there when it has done its simplest work, tried once for each run: what is installed and cannot
 * work here is a reason to skip, in the program's own words, and no failure of ours.
 */

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

export type Tried =
  | { readonly works: true; readonly said: string }
  /** `no gcc (apt-get install gcc)`, or `gcc does not work: …` */
  | { readonly works: false; readonly why: string };

export interface Trial {
  /** How to get it. */
  readonly install: string;
  readonly input?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Its output, once it has ended well. */
export function tryProgram(program: string, args: readonly string[], { install, input, env }: Trial): Tried {
  const key = JSON.stringify([program, args, input, env?.PATH ?? process.env.PATH, env?.DOCKER_HOST]);
  return tryOnce(key, () => {
    const { status, error, signal, stdout, stderr } = spawnSync(program, args, {
      ...{ encoding: "utf8", input: input ?? "", timeout: 60_000, maxBuffer: 2 ** 26 },
      env: env ?? process.env,
    });
    if (error !== undefined && "code" in error && error.code === "ENOENT")
      return { works: false, why: `no ${program} (${install})` };
    if (status === 0) return { works: true, said: stdout.trim() };
    const words = `${stderr ?? ""}\n${stdout ?? ""}`.trim() || error?.message || `status ${status ?? signal}`;
    return { works: false, why: doesNotWork(program, words) };
  });
}

/** null when it works, else the reason. */
export function whyNot(program: string, args: readonly string[], trial: Trial): string | null {
  const tried = tryProgram(program, args, trial);
  return tried.works ? null : tried.why;
}

/** The last line says most. */
export function doesNotWork(program: string, words: string): string {
  return `${program} does not work: ${words.trim().split("\n").at(-1)?.trim().slice(0, 300)}`;
}

/** A run of another Node goes on beside a run that begins, and forgets. */
const folder = resolve("node_modules/.cache/tried-programs", process.version);

/** By its key the same answer in every file of a run. */
export function tryOnce(key: string, work: () => Tried): Tried {
  const file = join(folder, createHash("sha256").update(key).digest("hex"));
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    const tried = work();
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, JSON.stringify(tried));
    return tried;
  }
}

/** A new run tries anew. */
export function forgetTried(): void {
  rmSync(folder, { recursive: true, force: true });
}

/** The path of a program, which may or may not work; null where there is none. */
export function placeOf(program: string): string | null {
  const { status, stdout } = spawnSync("sh", ["-c", 'command -v "$1"', "sh", program], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : null;
}

const emptyProgram = "int main(void) { return 0; }\n";

/** It compiles and links an empty program. */
export function whyNoCompiler(command: string, install: string): string | null {
  return whyNot(command, ["-x", "c", "-", "-o", "/dev/null"], { install, input: emptyProgram });
}

/** Without a reason of its own, it says its version. */
export function whyNoVersion(program: string, install = `apt-get install ${program}`): string | null {
  return whyNot(program, ["--version"], { install });
}

export const whyNoGcc = (): string | null => whyNoCompiler("gcc", "apt-get install gcc libc6-dev");
export const whyNoOpenssl = (): string | null =>
  whyNot("openssl", ["rand", "-hex", "1"], { install: "apt-get install openssl" });
export const whyNoPython = (module?: string, install = "apt-get install python3", python = "python3") =>
  whyNot(python, ["-c", module === undefined ? "pass" : `import ${module}`], { install });
export const whyNoShellcheck = (): string | null =>
  whyNot("shellcheck", ["-"], { install: "apt-get install shellcheck", input: "#!/bin/sh\ntrue\n" });
export const whyNoZstd = (program: "zstd" | "pzstd" = "zstd"): string | null =>
  whyNot(program, ["-q", "-c", "-"], { install: "apt-get install zstd", input: "a" });

/** It runs a program of this machine, when that is one for its CPU. */
export function whyNoEmulator(architecture: "x86_64" | "aarch64"): string | null {
  const native = { x64: "x86_64", arm64: "aarch64" }[process.arch as string] === architecture;
  return whyNot(`qemu-${architecture}`, [...(native ? [process.execPath] : []), "--version"], {
    install: "apt-get install qemu-user",
  });
}
