/** The shells and awks of this machine: the script must not tell them apart. */

import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";

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
    const path = which(program);
    if (path === null) return [];
    const at = join(folder, name.replace(" ", "-"));
    mkdirSync(at, { recursive: true });
    symlinkSync(path, join(at, "awk"));
    return [{ name, at }];
  });
  return Object.entries(shells).flatMap(([shell, words]) =>
    which(words.split(" ")[0] ?? "") === null
      ? []
      : found.map(({ name, at }) => ({ name: `${shell}, ${name}`, shell: words, awk: at })),
  );
}

/** What is not there for a pair, each with the way to get it. */
export function missingForDialects(): readonly string[] {
  const programs = [...Object.values(shells), ...Object.values(awks)].map(
    (words) => words.split(" ")[0] ?? "",
  );
  return [...new Set(programs)]
    .filter((program) => which(program) === null)
    .map(
      (program) => `no ${program} (apt-get install ${program === "busybox" ? "busybox-static" : program})`,
    );
}

/** null where there is a shell with an awk. */
export function whyNoDialect(dialects: readonly Dialect[]): string | null {
  return dialects.length > 0 ? null : missingForDialects().join(", ");
}

export function which(program: string): string | null {
  try {
    return execFileSync("sh", ["-c", 'command -v "$1"', "sh", program], { encoding: "utf8" }).trim();
  } catch {
    return null;
  }
}
