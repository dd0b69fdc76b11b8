/** The shape of a command's file. */

import type { Command } from "commander";
import type { CommandContext } from "./command-context.ts";

/** Runs a command. Answers with the exit code of imgmatch, or of the container that it has run. */
export type Action<Flags> = (flags: Flags, context: CommandContext) => Promise<number>;

/** Calls an action with one object: the flags of the command and of the one above it, and the arguments by name. */
export type Run = <Flags>(action: Action<Flags>) => (...given: unknown[]) => Promise<void>;

/** Adds arguments, flags, help and action to a command. */
export type Define = (command: Command, run: Run) => Command;
