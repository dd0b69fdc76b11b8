/** The results of a build as JUnit XML, which CI services show beside those of tests. */

import { formatProblem, type Problem } from "../../errors.ts";
import type { CellResult } from "../../fleet/engines/built-cell.ts";
import { printableLines } from "../../printable.ts";

export interface JunitReport {
  /** The matrix, as the command names it. */
  readonly suite: string;
  readonly results: readonly CellResult[];
  /** What ended the command; each is an error of its own. */
  readonly problems: readonly Problem[];
}

/** One suite with a case for each cell that was to be built. What was not done is skipped. */
export function junitText({ suite, results, problems }: JunitReport): string {
  const statusCount = (status: CellResult["status"]) =>
    results.filter((result) => result.status === status).length;
  const head = attributes({
    name: suite,
    tests: results.length + problems.length,
    failures: statusCount("failed"),
    errors: problems.length,
    skipped: statusCount("interrupted"),
  });
  const cases = [
    ...results.map((result) => caseOf(suite, result)),
    ...problems.map((problem) => testCase({ name: problem.code, suite }, fault("error", [problem]))),
  ];
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    "<testsuites>",
    `  <testsuite ${head}>`,
    ...cases.map((each) => `    ${each}`),
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function caseOf(suite: string, result: CellResult): string {
  const { cell: name } = result;
  if (result.status === "interrupted") return testCase({ name, suite }, '<skipped message="not done"/>');
  const log = result.log === null ? "" : `<system-out>${escaped(`log: ${result.log}`)}</system-out>`;
  const failure = result.status === "failed" ? fault("failure", result.problems) : "";
  return testCase({ name, suite, time: (result.durationMs / 1000).toFixed(3) }, failure + log);
}

function testCase({ suite, ...named }: { name: string; suite: string; time?: string }, body: string): string {
  return `<testcase ${attributes({ classname: suite, ...named })}>${body}</testcase>`;
}

function fault(element: "failure" | "error", problems: readonly Problem[]): string {
  const [{ code, message } = { code: "", message: "" }] = problems;
  const text = escaped(problems.map(formatProblem).join("\n"));
  return `<${element} ${attributes({ type: code, message })}>${text}</${element}>`;
}

function attributes(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}="${escaped(`${value}`).replaceAll("\n", "&#10;")}"`)
    .join(" ");
}

/** XML has no form for most control characters (XML 1.0, 2.2): they become their escapes. */
function escaped(text: string): string {
  return printableLines(text)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
