/** Prints for the demo: numbered steps, sentences, and each command before it runs. */

import { styleText } from "node:util";

export interface Say {
  step(title: string): void;
  line(text: string): void;
  command(argv: readonly string[]): void;
}

export function createSay(write: (text: string) => void): Say {
  const started = performance.now();
  let steps = 0;
  return {
    step(title) {
      steps += 1;
      const seconds = ((performance.now() - started) / 1000).toFixed(0);
      write(`\n${styleText("bold", `${steps}. ${title}`)} ${styleText("dim", `(${seconds} s)`)}\n`);
    },
    line: (text) => write(`   ${text}\n`),
    command: (argv) => write(`${styleText("cyan", `$ ${argv.map(quote).join(" ")}`)}\n`),
  };
}

/** As one would type it in a POSIX shell. */
function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
