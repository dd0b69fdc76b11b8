/** The program: its commands and flags, and errors → exit codes. Every command's code is loaded only when it runs. */

import { Command, CommanderError, type Option } from "commander";
import type { CommandContext } from "./command-context.ts";
import type { Run } from "./define.ts";
import { refuseRepeats } from "./flags/refuse-repeats.ts";
import { commandGroups, commandTable, elsewhere, isCommand } from "./command-table.ts";
import { type ExitCode, exitCodes, ImgmatchError, type Problem, problemCodes } from "../errors.ts";
import { styleFor } from "./report/style.ts";
import { tellNotice } from "./print.ts";
import { terminalText } from "./report/terminal-text.ts";
import { version } from "../version.ts";

/**
 * Runs the command line and answers the exit code: of imgmatch, or of the container that it has run.
 *
 * @example
 * process.exitCode = await runCli(["plan", "--json"], context);
 */
export async function runCli(
  args: readonly string[],
  world: Omit<CommandContext, "onEvent">,
): Promise<number> {
  const context = printingSafely(world);
  const program = new Command("imgmatch");
  let exitCode: number = exitCodes.ok;
  const run: Run =
    (action) =>
    async (...given) => {
      exitCode = await action(flagsOf(given, args), context);
    };
  try {
    await defineProgram(program, args, run, context);
    await program.parseAsync([...args], { from: "user" });
    return exitCode;
  } catch (error) {
    return reportError(error, { program, args }, context);
  }
}

/** Joins the arguments, the flags and the command that commander hands to an action into the one object that a command takes. */
function flagsOf<Flags>(given: readonly unknown[], args: readonly string[]): Flags {
  const command = given.at(-1) as Command;
  const named = command.registeredArguments.map(
    (argument, index) => [argument.name(), given[index]] as const,
  );
  const written = Object.fromEntries(named.filter(([, value]) => value !== undefined));
  const afterDashes = args.slice(beforeDashes(args).length + 1);
  return { ...command.parent?.opts(), ...command.opts(), ...written, afterDashes } as Flags;
}

/** Answers with the words before `--`: the rest is for the container. */
function beforeDashes(args: readonly string[]): readonly string[] {
  const end = args.indexOf("--");
  return end < 0 ? args : args.slice(0, end);
}

/** Every word that the program prints goes through here, whoever wrote it. */
function printingSafely(world: Omit<CommandContext, "onEvent">): CommandContext {
  const err = (text: string) => world.err(terminalText(text));
  return {
    ...world,
    out: (text) => world.out(terminalText(text)),
    err,
    log: (line) => world.log(terminalText(line)),
    onEvent: (event) =>
      tellNotice(event.type === "problem" ? { ...event, problem: withinReach(event.problem) } : event, {
        err,
        terminal: world.terminal,
      }),
  };
}

async function defineProgram(
  program: Command,
  args: readonly string[],
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
    // A wrong option comes as an error with a code, like every other.
    .configureOutput({ writeOut: context.out, writeErr: context.err, outputError: () => {} })
    .addHelpText("after", helpFooter);
  // A node that resolves should not wait for the flags of commands that it does not run.
  const [first] = args;
  for (const [heading, commands] of Object.entries(commandGroups)) {
    const names = Object.keys(commands).filter((name) => !isCommand(first) || name === first);
    const definitions = await Promise.all(names.filter(isCommand).map((name) => commandTable[name]()));
    program.commandsGroup(`${heading}:`);
    for (const [index, define] of definitions.entries()) define(program.command(names[index] ?? ""), run);
  }
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

interface Call {
  readonly program: Command;
  readonly args: readonly string[];
}

async function reportError(error: unknown, call: Call, context: CommandContext): Promise<ExitCode> {
  const { args } = call;
  if (error instanceof CommanderError) {
    // Help and version end here too, with exit code 0; commander has printed what there is to say.
    if (error.exitCode === 0) return exitCodes.ok;
    // A call without a command: the help is the answer, and was printed.
    if (error.code === "commander.help") return exitCodes.usage;
    return reportProblems([usageProblem(error, call)], args, context);
  }
  if (context.signal.aborted && !(error instanceof ImgmatchError)) return exitCodes.interrupted;
  const { systemProblem } = await import("../io/system-error.ts");
  const known = systemProblem(error);
  if (known === null) {
    const { bugReport } = await import("./report/bug.ts");
    context.err(bugReport(error, version));
    return exitCodes.failed;
  }
  const [first, ...more] = known.problems;
  return reportProblems([withHelp(first, call), ...more], args, context);
}

async function reportProblems(
  found: readonly [Problem, ...Problem[]],
  args: readonly string[],
  context: CommandContext,
): Promise<ExitCode> {
  const problems = found.map(withinReach);
  const { problemsToJson, reportProblem } = await import("./report/problems.ts");
  if (beforeDashes(args).includes("--json")) context.out(problemsToJson(problems));
  else {
    for (const problem of problems)
      context.err(`${reportProblem(problem, styleFor(context.terminal.color.err))}\n`);
  }
  return problemCodes[found[0].code];
}

/** `error: unknown option '--jsn'\n(Did you mean --json?)` of commander. */
function usageProblem({ message, code }: CommanderError, call: Call): Problem {
  const [what = "", hint = ""] = message.replace(/^error: /, "").split("\n");
  const meant = /^\(Did you mean (.*)\?\)$/.exec(hint)?.[1];
  const help = `see ${helpOf(call)}`;
  const missing = code === "commander.unknownCommand" && elsewhere !== null ? `${elsewhere}; ` : "";
  const fix = `${meant === undefined ? "" : `write ${meant}; `}${missing}${help}`;
  return { code: "USAGE", message: what, fix };
}

/** A mistake in the words of a call: also where to read which words there are. */
function withHelp(problem: Problem, call: Call): Problem {
  const { code, fix } = problem;
  return code === "USAGE" ? { ...problem, fix: `${fix}; see ${helpOf(call)}` } : problem;
}

/** Of the command that the words name, as far as they name one. */
function helpOf({ program, args }: Call): string {
  const words = ["imgmatch"];
  let command = program;
  for (const word of args) {
    const below = command.commands.find((each) => each.name() === word);
    if (below === undefined) break;
    words.push(word);
    command = below;
  }
  return [...words, "--help"].join(" ");
}

/** Of a fix that names a command which this program lacks: how to have it. */
function withinReach(problem: Problem): Problem {
  if (elsewhere === null || problem.fix === undefined || problem.fix.includes(elsewhere)) return problem;
  const named = [...problem.fix.matchAll(/\bimgmatch ([a-z][a-z-]*)/g)].map(([, name]) => name);
  return named.every(isCommand) ? problem : { ...problem, fix: `${problem.fix} (${elsewhere})` };
}

const helpFooter = `
imgmatch COMMAND --help shows the options of a command.

Exit codes: 0 ok, 1 failed or drift found, 2 usage or matrix, 3 no image fits,
4 host broken or unreadable, 5 container engine or registry, 6 the registry
holds something else, 130 interrupted.`;
