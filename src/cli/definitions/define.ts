/** What a command's definition is: its arguments, flags and help, and the action that it loads when it runs. */

import type { Command } from "commander";
import type { CommandContext } from "../command-context.ts";

/** Answers the exit code: of imgmatch, or of the container that it has run. */
export type Action<Flags> = (flags: Flags, context: CommandContext) => Promise<number>;

/** Loads an action when its command runs, and hands it the flags: its own, those of the command above it, and arguments by name. */
export type Run = <Flags>(load: () => Promise<Action<Flags>>) => (...given: unknown[]) => Promise<void>;

export type Define = (command: Command, run: Run) => Command;
