/** Turns the error that ends a command into a message and an exit code. */

import { type Command, CommanderError } from "commander";
import type { CommandContext, CommandTable } from "./command.ts";
import { ImgmatchError, type Problem } from "../errors.ts";
import { type ExitCode, exitCodes, problemCodes } from "../problem-codes.ts";
import { tellProblem } from "./print.ts";
import { annotate } from "./report/annotation.ts";
import { problemsJson } from "./report/problems.ts";
import { version } from "../version.ts";

interface Call {
  readonly program: Command;
  /** The words before `--`. */
  readonly words: readonly string[];
  /** Of this program. */
  readonly commands: CommandTable;
}

export async function reportError(error: unknown, call: Call, context: CommandContext): Promise<ExitCode> {
  if (error instanceof CommanderError) {
    // Commander has printed the help or the version.
    if (error.exitCode === 0) return exitCodes.ok;
    // Commander has printed the help, as the call names no command.
    if (error.code === "commander.help") return exitCodes.usage;
    return reportProblems([usageProblem(error, call)], call, context);
  }
  if (context.signal.aborted && !(error instanceof ImgmatchError)) return exitCodes.interrupted;
  const { systemProblem } = await import("../io/system-error.ts");
  const known = systemProblem(error);
  if (known === null) {
    context.err(bugReport(error));
    return exitCodes.failed;
  }
  const [first, ...more] = known.problems;
  return reportProblems([withHelp(first, call), ...more], call, context);
}

function reportProblems(
  found: readonly [Problem, ...Problem[]],
  { words, commands }: Call,
  context: CommandContext,
): ExitCode {
  const problems = found.map((each) => withinReach(each, commands));
  if (words.includes("--json")) context.out(`${JSON.stringify(problemsJson(problems), null, 2)}\n`);
  else for (const problem of problems) tellProblem(problem, context);
  annotate(problems, context);
  return problemCodes[found[0].code];
}

/** Reads `error: unknown option '--jsn'\n(Did you mean --json?)` of commander. */
function usageProblem({ message, code }: CommanderError, call: Call): Problem {
  const [what = "", hint = ""] = message.replace(/^error: /, "").split("\n");
  const similar = /^\(Did you mean (.*)\?\)$/.exec(hint)?.[1];
  const isWorkspace = code === "commander.unknownOption" && /'--(?:workspace|fleet)\b/.test(what);
  const ofFleets = "build, plan and publish take a workspace: name one fleet here, with --matrix or --lock; ";
  const advice = isWorkspace ? ofFleets : similar === undefined ? "" : `write ${similar}; `;
  const { elsewhere } = call.commands;
  const missing = code === "commander.unknownCommand" && elsewhere !== null ? `${elsewhere}; ` : "";
  return { code: "USAGE", message: what, fix: `${advice}${missing}see ${helpOf(call)}` };
}

/** Adds the command's help to the fix of a mistake in the words of the call. */
function withHelp(problem: Problem, call: Call): Problem {
  const { code, fix } = problem;
  return code === "USAGE" ? { ...problem, fix: `${fix}; see ${helpOf(call)}` } : problem;
}

/** `imgmatch lock merge --help`: the help of the command that the words name. */
function helpOf({ program, words }: Call): string {
  const names = ["imgmatch"];
  let command = program;
  for (const word of words) {
    const below = command.commands.find((each) => each.name() === word);
    if (below === undefined) break;
    names.push(word);
    command = below;
  }
  return [...names, "--help"].join(" ");
}

export function isCommand(name = "", groups: CommandTable["groups"]): boolean {
  return Object.values(groups).some((commands) => Object.hasOwn(commands, name));
}

/** Adds how to get a command that the fix names and this program lacks. */
export function withinReach(problem: Problem, { groups, elsewhere }: CommandTable): Problem {
  if (elsewhere === null || problem.fix === undefined || problem.fix.includes(elsewhere)) return problem;
  const named = [...problem.fix.matchAll(/\bimgmatch ([a-z][a-z-]*)/g)].map(([, name]) => name);
  return named.every((name) => isCommand(name, groups))
    ? problem
    : { ...problem, fix: `${problem.fix} (${elsewhere})` };
}

/** A bug is not a mistake of the user. */
export function bugReport(error: unknown): string {
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const cause =
    error instanceof Error && error.cause instanceof Error ? `\ncaused by ${error.cause.stack ?? ""}` : "";
  return [
    "This is a bug in imgmatch, not a mistake of yours. Please report it with these lines:",
    `imgmatch ${version}, Node ${process.version}, ${process.platform}/${process.arch}`,
    `${stack}${cause}`,
    "",
  ].join("\n");
}
