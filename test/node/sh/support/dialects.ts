/** The shells and awks of this machine: the script must not tell them apart. */

import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { placeOf, whyNot } from "../../../support/programs.ts";

export interface Dialect {
  readonly name: string;
  /** Words that start the shell. */
  readonly shell: string;
  /** A folder whose `awk` is the one that is meant. */
  readonly awk: string;
}

const shells = { dash: "dash", "busybox ash": "busybox ash", "bash --posix": "bash --posix", yash: "yash" };
const awks = { mawk: "mawk", gawk: "gawk", "busybox awk": "busybox", "original-awk": "original-awk" };

/** Every pair that is installed. */
export function findDialects(folder: string): readonly Dialect[] {
  const found = Object.entries(awks).flatMap(([name, program]) => {
    const path = placeOf(program);
    if (path === null || whyNoAwk(program) !== null) return [];
    const at = join(folder, name.replace(" ", "-"));
    mkdirSync(at, { recursive: true });
    symlinkSync(path, join(at, "awk"));
    return [{ name, at }];
  });
  return Object.entries(shells).flatMap(([shell, words]) =>
    whyNoShell(words) !== null
      ? []
      : found.map(({ name, at }) => ({ name: `${shell}, ${name}`, shell: words, awk: at })),
  );
}

/** The programs that a pair lacks, each with the way to get it. */
export function missingForDialects(): readonly string[] {
  const reasons = [...Object.values(shells).map(whyNoShell), ...Object.values(awks).map(whyNoAwk)];
  return [...new Set(reasons.filter((why) => why !== null))];
}

const packageOf = (program: string) => (program === "busybox" ? "busybox-static" : program);

function whyNoShell(words: string): string | null {
  const [program = "", ...args] = words.split(" ");
  return whyNot(program, [...args, "-c", "true"], { install: `apt-get install ${packageOf(program)}` });
}

function whyNoAwk(program: string): string | null {
  const args = [...(program === "busybox" ? ["awk"] : []), "BEGIN { exit 0 }"];
  return whyNot(program, args, { install: `apt-get install ${packageOf(program)}` });
}

/** null where there is a shell with an awk. */
export function whyNoDialect(dialects: readonly Dialect[]): string | null {
  return dialects.length > 0 ? null : missingForDialects().join(", ");
}
