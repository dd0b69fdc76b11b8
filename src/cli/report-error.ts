/** Turns the error that ends a command into a message and an exit code. */

import { CommanderError } from "commander";
import type { CommandContext, CommandTable } from "./command.ts";
import { ImgmatchError, type Problem } from "../errors.ts";
import { type ExitCode, exitCodes, problemCodes } from "../problem-codes.ts";
import { tellProblem } from "./print.ts";
import { annotate } from "./report/annotation.ts";
import { problemsJson } from "./report/problems.ts";
import type { Call } from "./usage-problem.ts";
import { version } from "../version.ts";

/** Loaded for mistakes in the words of the call alone. */
const usage = () => import("./usage-problem.ts");

export async function reportError(error: unknown, call: Call, context: CommandContext): Promise<ExitCode> {
  if (error instanceof CommanderError) {
    // Commander has printed the help or the version.
    if (error.exitCode === 0) return exitCodes.ok;
    // Commander has printed the help, as the call names no command.
    if (error.code === "commander.help") return exitCodes.usage;
    return reportProblems([(await usage()).usageProblem(error, call)], call, context);
  }
  if (context.signal.aborted && !(error instanceof ImgmatchError)) return exitCodes.interrupted;
  const { systemProblem } = await import("../io/system-error.ts");
  const known = systemProblem(error);
  if (known === null) {
    context.err(bugReport(error));
    return exitCodes.failed;
  }
  const [first, ...more] = known.problems;
  const told = first.code === "USAGE" ? (await usage()).withHelp(first, call) : first;
  return reportProblems([told, ...more], call, context);
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
