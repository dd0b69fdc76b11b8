/** The compilers of the machine that runs the tests. */

import { spawnSync } from "node:child_process";
import { remember } from "../../../src/oci/remember.ts";

export interface Compiler {
  /** For example `gcc 12.2.0`. */
  readonly title: string;
  readonly kind: "gcc" | "clang";
  readonly version: string;
  /** The macros that it defines with these options; null when it does not accept them. */
  macros(options: readonly string[]): ReadonlySet<string> | null;
}

/** The compiler by this command, with arguments that every call gets; null when the machine has none. */
export function findCompiler(
  kind: Compiler["kind"],
  command: string,
  always: readonly string[] = [],
): Compiler | null {
  const asked = spawnSync(command, ["-dumpfullversion", "-dumpversion"], { encoding: "utf8" });
  if (asked.status !== 0) return null;
  const version = asked.stdout.trim().split("\n")[0] ?? "";
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
