/** What a command is, and its world: streams, terminal and signals. */

import type { Command } from "commander";
import type { World } from "../io/world.ts";
import type { NodePorts } from "../node/question.ts";

/** Runs a command. Answers with the exit code of imgmatch, 0 by default, or of the container that it has run. */
export type Action<Flags> = (flags: Flags, context: CommandContext) => Promise<number> | Promise<void>;

/** Calls an action with one object: the flags of the command and of the one above it, and the arguments by name. */
export type Run = <Flags>(action: Action<Flags>) => (...given: unknown[]) => Promise<void>;

/** Adds arguments, flags, help and action to a command. */
export type Define = (command: Command, run: Run) => Command;

/** The commands of a program. */
export interface CommandTable {
  /** Heading in the help → name → definition, in the order of the help. */
  readonly groups: Readonly<Record<string, Readonly<Record<string, () => Promise<Define>>>>>;
  /** For scripts, and in no help. */
  readonly unlisted: Readonly<Record<string, () => Promise<Define>>>;
  /** How to get the commands that this program lacks; null if it has all. */
  readonly elsewhere: string | null;
}

/** Tests pass others. */
export interface CommandContext extends World {
  /** The ports of this program, for commands that the program of one file has too. */
  readonly ports: NodePorts;
  /** Writes the answer to standard output. */
  readonly out: (text: string) => void;
  /** Writes everything else to standard error. */
  readonly err: (text: string) => void;
  /** Writes a line of a service to standard error, without waiting for the reader. False if the line is dropped. */
  readonly log: (line: string) => boolean;
  /** The lines of standard input, as they come. */
  readonly stdinLines: () => AsyncIterable<string>;
  /** The words that start this program again, without arguments. */
  readonly self: readonly [string, ...string[]];
  readonly terminal: TerminalFacts;
  /** Aborted by the first Ctrl-C or SIGTERM, unless a program in the foreground gets it. */
  readonly signal: AbortSignal;
  /** Sets the meaning of signals from now on. By default, the first signal ends the process. */
  readonly takeSignals: (mode: SignalMode) => void;
}

/**
 * `finish`: the first signal lets the command end by itself, and the second ends the process.
 * `child`: a program in the foreground gets the signals. The command ends with it.
 */
export type SignalMode = "finish" | "child";

export interface TerminalFacts {
  /** Standard error is a terminal that can redraw lines. */
  readonly animated: boolean;
  /** Standard input and output are a terminal. */
  readonly interactive: boolean;
  /** Columns of standard error, for what is redrawn; 80 if it is no terminal. */
  readonly columns: number;
  /** Columns of standard output, for answers; unlimited if it is no terminal. */
  readonly width: number;
  readonly color: { readonly out: boolean; readonly err: boolean };
}
