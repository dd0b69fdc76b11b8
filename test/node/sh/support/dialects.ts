/** The shells and awks of this machine: the script must not tell them apart. */

import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { isLong } from "../../../support/long.ts";
import { placeOf, whyNot } from "../../../support/programs.ts";

export interface Dialect {
  readonly name: string;
  /** Words that start the shell. */
  readonly shell: string;
  /** A folder whose `awk` is the one that is meant. */
  readonly awk: string;
}

const shells: Readonly<Record<string, string>> = {
  dash: "dash",
  "busybox ash": "busybox ash",
  "bash --posix": "bash --posix",
  yash: "yash",
};
const awks = { mawk: "mawk", "busybox awk": "busybox", gawk: "gawk", "original-awk": "original-awk" };

/** Every shell and every awk that is installed, each at least once; every pair of them with IMGMATCH_LONG. */
export function findDialects(folder: string): readonly Dialect[] {
  const withAwk = Object.entries(awks).flatMap(([name, program]) => {
    const path = placeOf(program);
    if (path === null || whyNoAwk(program) !== null) return [];
    const awk = join(folder, name.replace(" ", "-"));
    mkdirSync(awk, { recursive: true });
    symlinkSync(path, join(awk, "awk"));
    return [(shell: string) => ({ name: `${shell}, ${name}`, shell: shells[shell] ?? "", awk })];
  });
  const found = Object.keys(shells).filter((shell) => whyNoShell(shells[shell] ?? "") === null);
  if (isLong) return found.flatMap((shell) => withAwk.map((pair) => pair(shell)));
  return Array.from({ length: Math.max(found.length, withAwk.length) }, (_, at) => {
    const [shell, pair] = [found[at % found.length], withAwk[at % withAwk.length]];
    return shell === undefined || pair === undefined ? [] : pair(shell);
  }).flat();
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
