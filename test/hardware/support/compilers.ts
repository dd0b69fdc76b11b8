/** The compilers of the machine that runs the tests. */

import { spawnSync } from "node:child_process";
import { remember } from "../../../src/io/collections.ts";
import { tryProgram } from "../../support/programs.ts";

export interface Compiler {
  /** For example `gcc 12.2.0`. */
  readonly title: string;
  readonly kind: "gcc" | "clang";
  readonly version: string;
  /** The macros that it defines with these options; null when it does not accept them. */
  macros(options: readonly string[]): ReadonlySet<string> | null;
}

/** The compiler by this command, with arguments that every call gets, or why there is none. */
export function findCompiler(
  kind: Compiler["kind"],
  command: string,
  always: readonly string[],
  install: string,
): Compiler | string {
  // It compiles an empty program, and links none: there may be no library for that CPU.
  const works = tryProgram(command, [...always, "-E", "-x", "c", "-"], { install });
  const asked = works.works ? tryProgram(command, ["-dumpfullversion", "-dumpversion"], { install }) : works;
  if (!asked.works) return asked.why;
  const version = asked.said.trim().split("\n")[0] ?? "";
  const known = new Map<string, ReadonlySet<string> | null>();
  return {
    title: `${command} ${version}${always.length === 0 ? "" : ` ${always.join(" ")}`}`,
    kind,
    version,
    macros(options) {
      return remember(known, options.join(" "), () => asMacros(options));
    },
  };

  function asMacros(options: readonly string[]): ReadonlySet<string> | null {
    const run = spawnSync(command, [...always, ...options, "-dM", "-E", "-x", "c", "-"], {
      encoding: "utf8",
      input: "",
      maxBuffer: 64 * 1024 * 1024,
    });
    if (run.status !== 0) return null;
    return new Set(Array.from(run.stdout.matchAll(/^#define (\w+)/gm), (match) => match[1] ?? ""));
  }
}
