/** The world of a command besides its flags. Tests pass their own. */

import type { World } from "../io/world.ts";

export interface CommandContext extends World {
  /** The answer. */
  readonly out: (text: string) => void;
  /** Everything else. */
  readonly err: (text: string) => void;
  /** Standard error of what runs on and on: never waits for its reader. Answers whether the line was taken. */
  readonly log: (line: string) => boolean;
  /** The lines of standard input, as they come. */
  readonly stdinLines: () => AsyncIterable<string>;
  /** The words that start this program again, without arguments. */
  readonly self: readonly [string, ...string[]];
  readonly terminal: TerminalFacts;
  /** Aborted by the first Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
  /** Says what the signals mean from here on; before it, and for commands that never say so, the first one ends the process. */
  readonly takeSignals: (mode: SignalMode) => void;
}

/**
 * `finish`: after the first signal the command ends by itself, and the second ends the process.
 * `child`: a program in the foreground gets them, and the command ends when it does.
 */
export type SignalMode = "finish" | "child";

export interface TerminalFacts {
  /** Standard error is a terminal that can redraw lines. */
  readonly animated: boolean;
  /** Standard input and output are a terminal: somebody can type. */
  readonly interactive: boolean;
  readonly columns: number;
  readonly color: { readonly out: boolean; readonly err: boolean };
}
