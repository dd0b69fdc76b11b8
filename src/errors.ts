/** Problems, and the errors that hold them. */

import { printable } from "./printable.ts";
import { type ExitCode, type ProblemCode, problemCodes } from "./problem-codes.ts";

/** The place of a problem: lines and columns count from 1. `text` is the source line, printed with a caret under `column`. */
export interface Place {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  readonly text?: string;
}

/** A finding: the code is for programs, message and fix are for people. */
export interface Problem {
  readonly code: ProblemCode;
  /** The event with its numbers, on one line. A line break in it comes from outside, and is printed as its escape. */
  readonly message: string;
  /** Further lines of the message: a list, or the last lines of a program's output. */
  readonly details?: readonly string[];
  /** The next step. */
  readonly fix?: string;
  readonly at?: Place;
}

/**
 * The error for every fault outside imgmatch. It holds all mistakes of one input.
 *
 * @example
 * throw new ImgmatchError({ code: "LOCK_NOT_FOUND", message: "no lock at images/imgmatch.lock.json", fix: "run imgmatch build" });
 */
export class ImgmatchError extends Error {
  override readonly name = "ImgmatchError";
  readonly problems: readonly [Problem, ...Problem[]];

  constructor(problem: Problem | readonly [Problem, ...Problem[]], options?: ErrorOptions) {
    const problems = isProblem(problem) ? ([problem] as const) : problem;
    super(problems.map(formatProblem).join("\n"), options);
    this.problems = problems;
  }

  get code(): ProblemCode {
    return this.problems[0].code;
  }

  get exitCode(): ExitCode {
    return problemCodes[this.code];
  }
}

/** For options that contradict each other or cannot be read. */
export function usageError(message: string, fix: string): ImgmatchError {
  return new ImgmatchError({ code: "USAGE", message, fix });
}

/** A bug in imgmatch. */
export class InternalError extends Error {
  override readonly name = "InternalError";
}

/** What an error says, without its code, place and fix: the message of an {@link ImgmatchError} has several lines. */
export function faultOf(error: unknown): string {
  if (error instanceof ImgmatchError) return error.problems[0].message;
  return error instanceof Error ? error.message : String(error);
}

/** Nobody reads more. */
const mostProblems = 100;

/** Throws the first hundred problems and the number of the others. Returns if there are none. */
export function throwProblems(problems: readonly Problem[]): void {
  const [first, ...rest] = problems.slice(0, mostProblems);
  if (first === undefined) return;
  const more = problems.length - mostProblems;
  if (more > 0) {
    const message = `at least ${more} more ${more === 1 ? "problem is" : "problems are"} not listed`;
    rest.push({ code: first.code, message, fix: "correct these first" });
  }
  throw new ImgmatchError([first, ...rest]);
}

/** Writes `file:line:column: CODE: message`, the source line with a caret, and the fix, without colour. */
export function formatProblem(problem: Problem): string {
  const { at } = problem;
  const place = at === undefined ? "" : `${formatPlace(at)}: `;
  const lines = [
    printable(`${place}${problem.code}: ${problem.message}`),
    ...(problem.details ?? []).map(sourceLine),
  ];
  if (at?.text !== undefined) {
    lines.push(`  ${sourceLine(at.text)}`);
    if (at.column !== undefined) lines.push(`  ${caretIndent(at.text, at.column)}^`);
  }
  if (problem.fix !== undefined) lines.push(printable(`  fix: ${problem.fix}`));
  return lines.join("\n");
}

/** The message with its details, for JSON, in which a line break is no danger. */
export function wholeMessage({ message, details = [] }: Pick<Problem, "message" | "details">): string {
  return [message, ...details].join("\n");
}

export function formatPlace({ file, line, column }: Place): string {
  return [printable(file), line, column].filter((part) => part !== undefined).join(":");
}

/** Makes a `switch` over a closed set fail to compile if a case is missing. */
export function assertNever(value: never): never {
  throw new InternalError(`unexpected value: ${JSON.stringify(value)}`);
}

function caretIndent(text: string, column: number): string {
  // Tabs stay, so that the caret is under its column at any tab width.
  return sourceLine(text.slice(0, column - 1)).replace(/[^\t]/g, " ");
}

/** Escapes a line of a file and keeps its tabs. */
function sourceLine(text: string): string {
  return text.split("\t").map(printable).join("\t");
}

function isProblem(value: Problem | readonly [Problem, ...Problem[]]): value is Problem {
  return !Array.isArray(value);
}
