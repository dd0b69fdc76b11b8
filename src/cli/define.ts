/** The export of a command's file: its arguments, flags and help, and the function that runs it. */

import type { Command } from "commander";
import type { CommandContext } from "./command-context.ts";

/** Answers the exit code: of imgmatch, or of the container that it has run. */
export type Action<Flags> = (flags: Flags, context: CommandContext) => Promise<number>;

/** Hands a command's action its flags: its own, those of the command above it, and arguments by name. */
export type Run = <Flags>(action: Action<Flags>) => (...given: unknown[]) => Promise<void>;

export type Define = (command: Command, run: Run) => Command;
