/** Problems for people and for programs. */

import { formatPlace, formatProblem, type Problem, wholeMessage } from "../../errors.ts";
import type { Style } from "./style.ts";

export function reportProblem(problem: Problem, style: Style): string {
  const [first = "", ...rest] = formatProblem(problem).split("\n");
  const place = problem.at === undefined ? "" : `${formatPlace(problem.at)}: `;
  const head = `${place}${style.bad(problem.code)}${first.slice(place.length + problem.code.length)}`;
  return [head, ...rest].join("\n");
}

/** A problem within the JSON of a report: its details become lines of its message. */
export function problemJson({ details, ...problem }: Problem): object {
  return { ...problem, message: wholeMessage({ message: problem.message, details: details ?? [] }) };
}

/** The answer of `--json` if a command fails. */
export function problemsJson(problems: readonly Problem[]): object {
  const errors = problems.map(({ code, message, details, fix, at }) => ({
    code,
    message: wholeMessage({ message, details: details ?? [] }),
    ...(fix === undefined ? {} : { fix }),
    ...(at === undefined ? {} : { at: { file: at.file, line: at.line ?? null, column: at.column ?? null } }),
  }));
  return { schemaVersion: 1, errors };
}
