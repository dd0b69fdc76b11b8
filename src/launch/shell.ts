/** POSIX shell quoting. Every command that imgmatch prints goes through {@link shellCommand}. */

import type { LaunchCommand } from "./target.ts";

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

/** A command with the variables that are set for it alone: `NV_GPU=0,1 nvidia-docker run …`. */
export function shellCommand({ argv, env }: LaunchCommand): string {
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
