/** Problems for people and for programs. */

import { formatPlace, formatProblem, type Problem, wholeMessage } from "../../errors.ts";
import type { Style } from "./style.ts";

export function reportProblem(problem: Problem, style: Style): string {
  const [first = "", ...rest] = formatProblem(problem).split("\n");
  const place = problem.at === undefined ? "" : `${formatPlace(problem.at)}: `;
  const head = `${place}${style.bad(problem.code)}${first.slice(place.length + problem.code.length)}`;
  return [head, ...rest].join("\n");
}

/** With all of its message, in a report of many things. */
export function problemJson({ details, ...problem }: Problem): object {
  return { ...problem, message: wholeMessage({ message: problem.message, details: details ?? [] }) };
}

/** `--json` of a command that failed. */
export function problemsToJson(problems: readonly Problem[]): string {
  const errors = problems.map(({ code, message, details, fix, at }) => ({
    code,
    message: wholeMessage({ message, details: details ?? [] }),
    ...(fix === undefined ? {} : { fix }),
    ...(at === undefined ? {} : { at: { file: at.file, line: at.line ?? null, column: at.column ?? null } }),
  }));
  return `${JSON.stringify({ schemaVersion: 1, errors }, null, 2)}\n`;
}
