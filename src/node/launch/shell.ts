/** POSIX shell quoting. Every command that imgmatch prints goes through {@link shellCommand}. */

import { hasPrintableLines } from "../../printable.ts";
import type { LaunchCommand } from "./target.ts";
import { unsupported } from "./unsupported.ts";

/**
 * A text as one word of a shell, in single quotes if need be. Within them a shell gives a meaning only to the quote itself (POSIX.1-2017,
 * Shell Command Language, 2.2.2).
 *
 * @example
 * shellWord("it's"); // 'it'\''s'
 */
export function shellWord(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * A command and its variables as a line to copy: `NV_GPU=0,1 nvidia-docker run …`. Throws `LAUNCH_UNSUPPORTED` for a word that a terminal
 * does not show as it is.
 */
export function shellCommand(command: LaunchCommand): string {
  const { argv, env } = command;
  for (const word of [...argv, ...Object.values(env)]) {
    if (hasPrintableLines(word)) continue;
    throw unsupported(
      "a command line",
      `show ${JSON.stringify(word)}, which holds control characters or invisible ones`,
      "take the characters out, or write the launch with --json, which escapes them",
    );
  }
  return shellLine(command);
}

/** The same for a line that a program reads. */
export function shellLine({ argv, env }: LaunchCommand): string {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${shellWord(value)}`);
  return [...variables, shellWords(argv)].join(" ");
}

export function shellWords(words: readonly string[]): string {
  return words
    .map((word, index) =>
      // A first word such as A=b would be an assignment, not a program.
      index === 0 && word.includes("=") ? `'${word.replaceAll("'", "'\\''")}'` : shellWord(word),
    )
    .join(" ");
}
