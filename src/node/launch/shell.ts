/** POSIX shell quoting. Every command that imgmatch prints goes through {@link shellCommand}. */

import { hasPrintableLines } from "../../printable.ts";
import type { LaunchCommand } from "./target.ts";
import { unsupported } from "./unsupported.ts";

/**
 * One word of a shell: what needs no quotes stays as it is, everything else stands in single quotes, within which a shell
 * reads no character but the quote itself (POSIX.1-2017, Shell Command Language, 2.2.2).
 *
 * @example
 * shellWord("it's"); // 'it'\''s'
 */
export function shellWord(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * A command with the variables that are set for it alone: `NV_GPU=0,1 nvidia-docker run …`. Throws `LAUNCH_UNSUPPORTED` for a word
 * that cannot be shown as it is: a line to be copied must be the line that is meant.
 */
export function shellCommand({ argv, env }: LaunchCommand): string {
  for (const word of [...argv, ...Object.values(env)]) {
    if (hasPrintableLines(word)) continue;
    throw unsupported(
      "a command line",
      `show ${JSON.stringify(word)}, which holds control characters or invisible ones`,
      "take them out, or write the launch with --json, which escapes them",
    );
  }
  const assignments = Object.entries(env).map(([name, value]) => `${name}=${shellWord(value)}`);
  return [...assignments, shellWords(argv)].join(" ");
}

export function shellWords(words: readonly string[]): string {
  return words
    .map((word, index) =>
      // A first word such as A=b would be an assignment, not a program.
      index === 0 && word.includes("=") ? `'${word.replaceAll("'", "'\\''")}'` : shellWord(word),
    )
    .join(" ");
}
