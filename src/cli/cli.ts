/** The program: reads its words, runs one command, and answers with the exit code. It loads the code of that command alone. */

import { Command, type Option } from "commander";
import type { CommandContext, CommandTable, Run } from "./command.ts";
import { usageError } from "../errors.ts";
import { exitCodes } from "../problem-codes.ts";
import { tellNotice } from "./print.ts";
import { isCommand, reportError, withinReach } from "./report-error.ts";
import { terminalText } from "./report/terminal-text.ts";
import { version } from "../version.ts";

/**
 * Runs the command line. Answers with the exit code of imgmatch, or of the container that it has run.
 *
 * @example
 * process.exitCode = await runCli(["plan", "--json"], allCommands, context);
 */
export async function runCli(
  args: readonly string[],
  commands: CommandTable,
  world: Omit<CommandContext, "onEvent">,
): Promise<number> {
  const context = printingSafely(world, commands);
  const program = new Command("imgmatch");
  const end = args.indexOf("--");
  const words = end < 0 ? args : args.slice(0, end);
  const afterDashes = end < 0 ? [] : args.slice(end + 1);
  let exitCode: number = exitCodes.ok;
  const run: Run =
    (action) =>
    async (...given) => {
      const answer = await action(flagsOf(given, afterDashes), context);
      if (answer !== undefined) exitCode = answer;
    };
  try {
    await defineProgram(program, args, commands, run, context);
    await program.parseAsync([...args], { from: "user" });
    return exitCode;
  } catch (error) {
    return reportError(error, { program, words, commands }, context);
  }
}

/**
 * commander hands arguments, flags and the command to an action. A command of imgmatch takes one object of all three.
 *
 * @param afterDashes the words after `--`, which are for the container
 */
function flagsOf<Flags>(given: readonly unknown[], afterDashes: readonly string[]): Flags {
  const command = given.at(-1) as Command;
  const named = command.registeredArguments.map(
    (argument, index) => [argument.name(), given[index]] as const,
  );
  const written = Object.fromEntries(named.filter(([, value]) => value !== undefined));
  return { ...command.parent?.opts(), ...command.opts(), ...written, afterDashes } as Flags;
}

/** Everything that the program prints passes here, whoever wrote it. */
function printingSafely(world: Omit<CommandContext, "onEvent">, commands: CommandTable): CommandContext {
  const err = (text: string) => world.err(terminalText(text, world.env));
  return {
    ...world,
    out: (text) => world.out(terminalText(text, world.env)),
    err,
    log: (line) => world.log(terminalText(line, world.env)),
    onEvent: (event) =>
      tellNotice(
        event.type === "problem" ? { ...event, problem: withinReach(event.problem, commands) } : event,
        {
          err,
          terminal: world.terminal,
        },
      ),
  };
}

async function defineProgram(
  program: Command,
  args: readonly string[],
  { groups, unlisted }: CommandTable,
  run: Run,
  context: CommandContext,
): Promise<void> {
  program
    .description(
      "Build a fleet of container images from a matrix, and find the one that was built for a host.",
    )
    .version(version, "-V, --version", "Print the version")
    .helpOption("-h, --help", "Show this help")
    .configureHelp({ optionDescription, subcommandTerm: (command) => command.name() })
    .exitOverride()
    // reportError prints errors.
    .configureOutput({ writeOut: context.out, writeErr: context.err, outputError: () => {} })
    .addHelpText("after", helpFooter);
  const [first = ""] = args;
  // A node that resolves does not wait for the flags of other commands, and the version waits for none.
  const isAlone = isCommand(first, groups) || ["-V", "--version"].includes(first);
  for (const [heading, commands] of Object.entries(groups)) {
    program.commandsGroup(`${heading}:`);
    for (const [name, load] of Object.entries(commands)) {
      if (isAlone && name !== first) continue;
      const define = await load();
      define(program.command(name), run);
    }
  }
  (await unlisted[first]?.())?.(program.command(first, { hidden: true }), run);
  for (const command of [program, ...program.commands]) {
    if (command.commands.length > 0) command.helpCommand("help [command]", "Show the help of a command");
  }
  for (const command of program.commands) refuseRepeats(command);
}

/** Commander would show an empty list as the default of an option that may be repeated. */
function optionDescription(option: Option): string {
  if (Array.isArray(option.defaultValue)) return `${option.description} (repeatable)`;
  return new Command().createHelp().optionDescription(option);
}

/**
 * Refuses a second value of a single-valued option, in a command and in its subcommands. Commander would take the last one silently.
 */
function refuseRepeats(command: Command): void {
  for (const option of command.options) {
    const takesOne = (option.required || option.optional) && !Array.isArray(option.defaultValue);
    if (!takesOne) continue;
    let first: string | null = null;
    command.on(`option:${option.name()}`, (value: string | null) => {
      if (first !== null)
        throw usageError(
          `${option.long} ${first} and ${option.long} ${value}: this option takes one value`,
          "leave one of them out",
        );
      first = `${value}`;
    });
  }
  for (const below of command.commands) refuseRepeats(below);
}

const helpFooter = `
imgmatch COMMAND --help shows the options of a command.

Exit codes: 0 ok, 1 failed or drift found, 2 usage or matrix, 3 no image fits,
4 host broken or unreadable, 5 container engine or registry, 6 the registry
holds something else, 130 interrupted.`;
